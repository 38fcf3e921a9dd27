import type { Clock } from "../base/clock.ts";

/** A clock whose sleepers wake at once and find that the time has passed: for loops that wait, in tests without other timers. */
export class InstantClock implements Clock {
  #now = 1_750_000_000_000;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - 1_750_000_000_000;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#now += ms;
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
  }
}
