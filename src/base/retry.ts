import type { Clock } from "./clock.ts";

export interface RetryPolicy {
  /** How often the work is done at most, the first time included. */
  readonly attempts: number;
  /** Upper bound of the first pause, in ms; it doubles with each further one. */
  readonly baseMs: number;
  /** Upper bound of every pause, in ms. */
  readonly capMs: number;
}

export interface RetryPorts {
  readonly clock: Clock;
  /** 0 (inclusive) to 1 (exclusive), as `Math.random`. */
  readonly random: () => number;
}

export interface RetryOptions extends RetryPorts {
  readonly mayRepeat: (error: unknown) => boolean;
}

/**
 * Repeats work while `mayRepeat` accepts its failure: bounded, with full jitter, abortable. The only place that repeats anything; each
 * use is a row in `docs/dev/turn-machine.md`.
 *
 * @throws the error of the last attempt, or the signal's reason if it aborts during a pause.
 */
export function retry<T>(
  work: (attempt: number) => Promise<T>,
  policy: RetryPolicy,
  { clock, random, mayRepeat }: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  // one promise where the first attempt succeeds: every poll comes through here
  const tried = (attempt: number): Promise<T> =>
    work(attempt).catch(async (error: unknown) => {
      if (attempt >= policy.attempts || signal.aborted || !mayRepeat(error)) throw error;
      const ceilingMs = Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1));
      await clock.sleep(random() * ceilingMs, signal);
      return await tried(attempt + 1);
    });
  return tried(1);
}
