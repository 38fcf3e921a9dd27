/** A line that one side puts into and the other reads to its end; what is read is taken. */
export class Queue<T> implements AsyncIterable<T> {
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

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const item = this.#waiting.shift();
      if (item !== undefined) yield item;
      else if (this.#closed) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
