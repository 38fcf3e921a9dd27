/** Who wrote in this long counts as writing now; ms. */
const lookedBackMs = 100;

/** As many write without waiting for each other. */
const fewWriters = 4;

/** A transaction begins this long after the one before it at most, while many write; ms. Two hundred answers then share 125 a second. */
const longestMs = 8;

/** A group this large waits no longer. */
const largestGroup = 512;

/** How long a group of writes waits for more writes: 0 ms while few turns answer, up to 8 ms while many do. */
export class CommitPace {
  readonly #monotonic: () => number;
  #writers = new Set<string>();
  #writersBefore = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #committedAtMs = Number.NEGATIVE_INFINITY;

  /** `monotonic`: ms that never go back. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** One more write waits, so many with it. Answers how long its group waits still, ms; 0 is "write now". */
  wrote(writer: string | undefined, waiting: number): number {
    const nowMs = this.#monotonic();
    if (nowMs - this.#sinceMs >= lookedBackMs) {
      this.#writersBefore = nowMs - this.#sinceMs < 2 * lookedBackMs ? this.#writers.size : 0;
      this.#writers = new Set();
      this.#sinceMs = nowMs;
    }
    if (writer !== undefined) this.#writers.add(writer);
    const writers = Math.max(this.#writers.size, this.#writersBefore);
    if (writers <= fewWriters || waiting >= Math.min(writers, largestGroup)) return 0;
    const windowMs = Math.min(longestMs, writers / fewWriters);
    return Math.max(0, this.#committedAtMs + windowMs - nowMs);
  }

  committed(): void {
    this.#committedAtMs = this.#monotonic();
  }
}
