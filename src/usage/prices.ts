import type { SpendEnvelope } from "./envelope.ts";
import type { TurnRowEnvelope } from "./turn-page-envelope.ts";

/** Credits, and whether they come from the price list because the IDE reported none. */
export interface Credits {
  readonly value: number;
  readonly isEstimated: boolean;
}

/** What a turn cost; undefined where nobody knows. */
export function creditsOf(turn: Pick<TurnRowEnvelope, "credits" | "credits_estimated">): Credits | undefined {
  const value = turn.credits ?? turn.credits_estimated;
  return value === null ? undefined : { value, isEstimated: turn.credits === null };
}

/** What turns cost together; `isPart` where nobody knows it of some that did not fail. Undefined where nobody knows it of any. */
export function creditsOfAll(
  spends: readonly Pick<
    SpendEnvelope,
    "turns" | "failed" | "credits" | "credits_known_turns" | "credits_estimated" | "credits_estimated_turns"
  >[],
): (Credits & { readonly isPart: boolean }) | undefined {
  const sum = (of: (spend: (typeof spends)[number]) => number) => spends.reduce((total, spend) => total + of(spend), 0);
  const estimated = sum((spend) => spend.credits_estimated_turns);
  const known = estimated + sum((spend) => spend.credits_known_turns);
  if (known === 0) return undefined;
  return {
    value: sum((spend) => spend.credits + spend.credits_estimated),
    isEstimated: estimated > 0,
    isPart: known < sum((spend) => spend.turns - spend.failed),
  };
}

/** `4`, `~4` where the price list says it, `≥~4` where nobody knows it of some turns. */
export function creditsInWords(
  { value, isEstimated, isPart }: Credits & { readonly isPart?: boolean },
  spell: (value: number) => string = (count) => count.toLocaleString("en", { maximumFractionDigits: 2 }),
): string {
  return `${isPart === true ? "≥" : ""}${isEstimated ? "~" : ""}${spell(value)}`;
}
