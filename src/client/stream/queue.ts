/** A queue that one side fills and the other reads to its end. Reading removes the entry. */
export class Queue<T> {
  readonly #waiting: T[] = [];
  #closed = false;
  #wake: () => void = () => {};

  put(item: T): void {
    if (this.#closed) return;
    this.#waiting.push(item);
    this.#wake();
  }

  /** No more comes; what waits is still read. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** By one reader at a time. Ends when the line was closed and is empty, or when the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<T, void> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        const item = this.#waiting.shift();
        if (item !== undefined) yield item;
        else if (this.#closed) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}
