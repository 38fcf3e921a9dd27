/** How long one slice may take before the event loop looks at everything else; ms. */
const sliceMs = 10;

/**
 * Runs bursts of work in order, one slice in each turn of the event loop, so that other work (a health check) runs in between.
 * The time of a piece includes all that it starts before the next piece begins.
 */
export class Slices {
  readonly #now: () => number;
  readonly #soon: (work: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  #next = 0;
  /** When the slice of this turn of the event loop began. */
  #sinceMs: number | undefined;

  /** `now`: monotonic ms. `soon`: runs work in a later turn of the event loop, in the order of the calls. */
  constructor(now = () => performance.now(), soon: (work: () => void) => void = setImmediate) {
    this.#now = now;
    this.#soon = soon;
  }

  get isBusy(): boolean {
    return this.#next < this.#waiting.length;
  }

  /** Does it in this turn of the event loop where there is room, and nothing waits before it. */
  run(work: () => void): void {
    if (this.isBusy || !this.#hasRoom()) this.later(work);
    else work();
  }

  /** Does it in one of the next turns of the event loop. */
  later(work: () => void): void {
    this.#waiting.push(work);
    this.#soon(this.#piece);
  }

  /** Does all that waits, now. */
  drain(): void {
    while (this.isBusy) this.#doNext();
  }

  readonly #piece = (): void => {
    if (!this.isBusy) return;
    if (this.#hasRoom()) this.#doNext();
    else this.#soon(this.#piece);
  };

  #hasRoom(): boolean {
    const now = this.#now();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = now;
      this.#soon(() => {
        this.#sinceMs = undefined;
      });
    }
    return now - this.#sinceMs < sliceMs;
  }

  #doNext(): void {
    const work = this.#waiting[this.#next++];
    if (this.#next === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#next = 0;
    }
    work?.();
  }
}
