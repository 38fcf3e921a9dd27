/** The only way any layer learns the time or waits, so that tests can move it. */
export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  /** Never goes back; ms from an arbitrary start. For durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error); // the reason is passed on as the aborter gave it
        return;
      }
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal.reason as Error); // as above
      };
      signal.addEventListener("abort", onAbort, { once: true });
    }),
};
