import { waitFor } from "./wait.ts";

/** The only way any layer learns the time or waits, so that tests can move it. */
export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  /** Never goes back; ms from an arbitrary start. For durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The units of a time span as people write them, in ms. A reader takes those that fit its field. */
export const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A longer timer wakes at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    waitFor(signal, (wake) => {
      const timer = setTimeout(wake, Math.min(longestTimerMs, Math.ceil(ms))); // a timer drops the fraction, and would wake early
      return () => clearTimeout(timer);
    }),
};
