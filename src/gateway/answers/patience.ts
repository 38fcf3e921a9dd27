import { bestEffort, notNeeded } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";

/**
 * Reports waits that take too long. A reader waits for each of fifty events a second, and waits are usually short. So one sleep of the
 * clock serves all the waits that begin during it.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #overAtMs = 0;
  #onOver: () => void = () => {};
  /** The end of the current sleep. */
  #wakesAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onOver` after `ms`, unless another wait has begun by then: there is one at a time. */
  wait(ms: number, onOver: () => void): void {
    this.#overAtMs = this.#clock.monotonic() + ms;
    this.#onOver = onOver;
    if (this.#overAtMs < this.#wakesAtMs) void this.#sleep();
  }

  /** Ends: no wait is reported any more, and the clock is released. */
  end(): void {
    this.#onOver = () => {};
    this.#ended.abort(notNeeded);
  }

  async #sleep(): Promise<void> {
    const wakesAtMs = this.#overAtMs;
    this.#wakesAtMs = wakesAtMs;
    const ms = Math.max(0, wakesAtMs - this.#clock.monotonic());
    await bestEffort(this.#clock.sleep(ms, this.#ended.signal));
    if (this.#wakesAtMs !== wakesAtMs || this.#ended.signal.aborted) return; // a shorter sleep runs instead
    this.#wakesAtMs = Number.POSITIVE_INFINITY;
    if (this.#clock.monotonic() < this.#overAtMs) await this.#sleep();
    else this.#onOver();
  }
}
