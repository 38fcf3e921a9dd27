import type { Clock } from "./clock.ts";
import { idle } from "./wait.fake.ts";
import { waitFor } from "./wait.ts";

interface Sleeper {
  readonly wakesAt: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. Sleepers wake in order of their time. */
export class FakeClock implements Clock {
  #now: number;
  #jumpedMs = 0;
  readonly #start: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(nowMs = 1_750_000_000_000) {
    this.#now = nowMs;
    this.#start = nowMs;
  }

  now(): number {
    return this.#now + this.#jumpedMs;
  }

  /** Sets the wall clock forward or back: no time passes, and no sleeper wakes. */
  jump(ms: number): void {
    this.#jumpedMs += ms;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  /** How many callers are asleep now. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return waitFor(signal, (wake) => {
      const sleeper: Sleeper = { wakesAt: this.#now + ms, wake };
      this.#sleepers.add(sleeper);
      return () => this.#sleepers.delete(sleeper);
    });
  }

  /** Moves time on and wakes the sleepers that are due. Promise callbacks run between two wakings. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms;
    await idle();
    for (;;) {
      let due: Sleeper | undefined;
      for (const sleeper of this.#sleepers)
        if (sleeper.wakesAt <= target && sleeper.wakesAt < (due?.wakesAt ?? Infinity)) due = sleeper;
      if (due === undefined) break;
      this.#sleepers.delete(due);
      this.#now = Math.max(this.#now, due.wakesAt);
      due.wake();
      await idle();
    }
    this.#now = target;
    await idle();
  }
}
