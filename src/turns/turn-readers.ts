import { notNeeded } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { Notifier } from "../base/notifier.ts";

/** How far the clocks of machines that share a store may be apart; ms. */
const skewMs = 10_000;

/** The readers of one turn in this process, and since when it has none: by the monotonic clock. */
export class TurnReaders {
  readonly #clock: Clock;
  #count = 0;
  #unreadSinceMs: number;
  #graceMs = 0;
  readonly #changes = new Notifier();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#unreadSinceMs = clock.monotonic();
  }

  get count(): number {
    return this.#count;
  }

  /** A reader reads until the returned function is called; a second call does nothing. */
  enter(): () => void {
    this.#count += 1;
    this.#changes.wake();
    let here = true;
    return () => {
      if (!here) return;
      here = false;
      this.#count -= 1;
      this.#unreadSinceMs = this.#clock.monotonic();
      this.#changes.wake();
    };
  }

  /** How long the turn runs without a reader: the longest that was ever asked for. `Infinity`: to its end. */
  extendGrace(graceMs: number): void {
    if (graceMs <= this.#graceMs) return;
    this.#graceMs = graceMs;
    this.#changes.wake();
  }

  /** Resolves once there is no reader here (at once if so). Rejects with the signal's reason. */
  async untilNone(signal: AbortSignal): Promise<void> {
    while (this.#count > 0) await this.#changes.wait(signal);
  }

  /**
   * Resolves once the turn had no reader for the grace time, in this process or in another. It asks `seenElsewhereAtMs` (epoch ms)
   * when the time is over, and waits on if another process had a reader since. Never resolves if the grace time is endless.
   * Rejects with the signal's reason.
   */
  async untilAbandoned(seenElsewhereAtMs: () => Promise<number>, signal: AbortSignal): Promise<void> {
    let quietSinceMs = this.#unreadSinceMs;
    for (;;) {
      const graceMs = this.#graceMs;
      if (this.#count > 0 || graceMs === Infinity) {
        await this.#changes.wait(signal);
        quietSinceMs = this.#unreadSinceMs;
        continue;
      }
      quietSinceMs = Math.max(quietSinceMs, this.#unreadSinceMs);
      const leftMs = quietSinceMs + graceMs - this.#clock.monotonic();
      if (leftMs > 0) {
        await this.#changedWithin(leftMs, signal);
        continue;
      }
      const seenAtMs = await seenElsewhereAtMs();
      if (this.#count > 0 || this.#graceMs > graceMs) continue;
      const agoMs = this.#clock.now() - seenAtMs;
      if (agoMs < -skewMs) return; // noted before the clock was set back: a reader that is still there would have noted it again
      const elsewhere = this.#clock.monotonic() - Math.max(0, agoMs);
      if (elsewhere <= quietSinceMs || elsewhere + graceMs <= this.#clock.monotonic()) return;
      quietSinceMs = elsewhere;
    }
  }

  async #changedWithin(ms: number, signal: AbortSignal): Promise<void> {
    const either = new AbortController();
    const both = AbortSignal.any([signal, either.signal]);
    const quiet = (promise: Promise<void>) => promise.catch(() => undefined);
    await Promise.race([quiet(this.#changes.wait(both)), quiet(this.#clock.sleep(ms, both))]);
    either.abort(notNeeded);
    signal.throwIfAborted();
  }
}
