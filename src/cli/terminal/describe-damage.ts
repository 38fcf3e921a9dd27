import type { Damage } from "../../log/sqlite/damage.ts";
import { spellCount } from "../doctor/spell.ts";

/** Describes the damage of a store for the user. */
export function describeDamage({ copy, lostKeys }: Damage): string {
  const kept = copy === undefined ? "Its files were left as they are." : `Its files are kept as ${copy}.`;
  const refused =
    lostKeys === 0
      ? ""
      : ` ${spellCount(lostKeys, "turn")} with an idempotency key cannot be read: a repeat under such a key fails as log_damaged, and no prompt is sent.`;
  return `The store was damaged, and part of it or all of it is lost. ${kept}${refused}`;
}
