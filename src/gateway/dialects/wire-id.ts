import type { TurnId } from "../../base/ids.ts";

/** A turn's id as an API writes ids: another prefix, the same 26 characters, so that either leads to the other. */
export function wireId(prefix: string, turnId: TurnId): string {
  return prefix + turnId.slice("turn_".length);
}

/** The turn that a wire id names; undefined when it cannot be one of ours. */
export function turnIdOf(prefix: string, id: string): TurnId | undefined {
  if (!id.startsWith(prefix)) return undefined;
  const rest = id.slice(prefix.length);
  return /^[0-9a-z]{26}$/.test(rest) ? (`turn_${rest}` as TurnId) : undefined; // the form that newTurnId makes
}
