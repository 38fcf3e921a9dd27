/** How a client waits between attaches: full jitter under a growing ceiling, and an end. */
export interface BackoffPolicy {
  readonly baseMs: number;
  readonly capMs: number;
  /** Attaches in a row without a new event or acknowledgement before the client gives up. */
  readonly budget: number;
}

export const defaultBackoff: BackoffPolicy = { baseMs: 250, capMs: 15_000, budget: 40 };

/** Ms to wait before the nth fruitless attach in a row (from 1); undefined when the budget is spent. `random`: 0 to 1. */
export function waitBefore(fruitless: number, policy: BackoffPolicy, random: () => number): number | undefined {
  if (fruitless > policy.budget) return undefined;
  const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(fruitless - 1, 30));
  return Math.round(random() * ceiling);
}
