import type { Clock } from "./clock.ts";
import { waitFor } from "./wait.ts";

/** The reason for aborting a wait that is no longer needed. It is shared, because each new error would capture a stack. */
export const notNeeded = new Error("no longer needed");

/** Clean-up that may fail: a failure goes to `onError` (by default it is ignored), and the caller continues. */
export async function bestEffort(work: Promise<unknown>, onError: (error: unknown) => void = () => {}): Promise<void> {
  try {
    await work;
  } catch (error) {
    onError(error);
  }
}

/**
 * A signal that aborts with a `TimeoutError` after `ms`, and keeps no process alive. Node 22.13 frees such a signal while only a combined one waits
 * for it, which then never aborts; with a listener it stays.
 */
export function timeLimit(ms: number): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  limit.addEventListener("abort", () => {});
  return limit;
}

/** A signal that aborts when the given one does, or as `timeLimit`. */
export function deadline(signal: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([signal, timeLimit(ms)]);
}

/** The result of the work, or undefined when the work takes longer than `ms`. Rejects with the work's own error if that comes first. */
export async function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | undefined> {
  const done = new AbortController();
  const longEnough = bestEffort(clock.sleep(ms, done.signal)).then(() => undefined);
  try {
    return await Promise.race([work, longEnough]);
  } finally {
    done.abort(notNeeded);
  }
}

/** The result of `work`. If the signal aborts first, its reason is thrown and the work runs on unobserved. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return waitFor(signal, (resolve, reject) => {
    work.then(resolve, reject);
    return () => undefined;
  });
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
