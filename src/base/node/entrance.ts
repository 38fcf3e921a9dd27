export interface EntranceOptions {
  /** As many may be inside without looking how busy the event loop is. */
  readonly few?: number;
  /** The maximum wait; ms. */
  readonly longestMs?: number;
  /** Monotonic ms. */
  readonly now?: () => number;
  /** Runs work a millisecond later, or when the event loop comes to it. */
  readonly soon?: (work: () => void) => void;
}

/** Looks that are no further apart than this show an event loop with little to do; ms. */
const quietMs = 2.5;

/**
 * Lets work that comes in bursts begin one after another. A few pieces are inside at once; one more enters when the event loop has
 * nothing else to do. So the first of two hundred requests are through while the last ones still wait, and no piece waits for a
 * slow server that another one asks.
 */
export class Entrance {
  readonly #few: number;
  readonly #longestMs: number;
  readonly #now: () => number;
  readonly #soon: (work: () => void) => void;
  readonly #waiting: { readonly enter: () => void; readonly sinceMs: number }[] = [];
  #inside = 0;
  /** When it was looked last, while somebody waits. */
  #lookedAtMs: number | undefined;

  constructor({ few = 12, longestMs = 500, now = () => performance.now(), soon = inAMoment }: EntranceOptions = {}) {
    this.#few = few;
    this.#longestMs = longestMs;
    this.#now = now;
    this.#soon = soon;
  }

  /** What the work gives, once it was let in. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#few) this.#inside++;
    else await this.#entered();
    try {
      return await work();
    } finally {
      this.#inside--;
      if (this.#inside < this.#few) this.#admit();
    }
  }

  #entered(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ enter: resolve, sinceMs: this.#now() });
      if (this.#lookedAtMs !== undefined) return;
      this.#lookedAtMs = this.#now();
      this.#soon(this.#look);
    });
  }

  readonly #look = (): void => {
    const now = this.#now();
    if (now - (this.#lookedAtMs ?? now) < quietMs) this.#admit();
    while (now - (this.#waiting[0]?.sinceMs ?? now) >= this.#longestMs) this.#admit();
    this.#lookedAtMs = this.#waiting.length > 0 ? now : undefined;
    if (this.#lookedAtMs !== undefined) this.#soon(this.#look);
  };

  #admit(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#inside++;
    next.enter();
  }
}

function inAMoment(work: () => void): void {
  setTimeout(work, 1);
}
