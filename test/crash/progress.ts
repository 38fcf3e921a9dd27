import { loadavg } from "node:os";

/** How often silence is counted, ms. */
const tickMs = 250;

/** Nothing moved for longer than anybody may wait: an answer that is late, which is neither lost nor wrong. */
export class Stalled extends Error {
  constructor(quietMs: number, last: string) {
    const load = loadavg()[0]?.toFixed(1);
    super(`nothing moved for ${Math.round(quietMs / 1_000)} s (last: ${last}; load ${load})`);
  }
}

/**
 * Patience that depends on progress and not on time: each participant calls `note` for each thing that happens, and `signal`
 * aborts with `Stalled` once nothing was noted for so long. Time in which this process itself did not run does not count: a
 * machine that is busy for minutes is not an answer that is late.
 */
export class Progress implements Disposable {
  readonly #limitMs: number;
  readonly #stalled = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #quietMs = 0;
  #last = "the start";

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.#timer = setInterval(() => this.#count(), tickMs);
  }

  /** Aborts with a `Stalled`. */
  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  /** Something happened. */
  note(what: string): void {
    this.#quietMs = 0;
    this.#last = what;
  }

  #count(): void {
    this.#quietMs += tickMs; // and not what the clock says: a late tick is one tick
    if (this.#quietMs >= this.#limitMs) this.#stalled.abort(new Stalled(this.#quietMs, this.#last));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
