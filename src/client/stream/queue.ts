import { bestEffort } from "../../base/async.ts";
import { Bell } from "../../base/bell.ts";

/** A queue that one side fills and the other reads to its end. Reading removes the entry. */
export class Queue<T> {
  readonly #waiting: T[] = [];
  readonly #bell = new Bell();
  #closed = false;

  put(item: T): void {
    if (this.#closed) return;
    this.#waiting.push(item);
    this.#bell.ring();
  }

  /** No more items come; waiting ones can still be read. */
  close(): void {
    this.#closed = true;
    this.#bell.ring();
  }

  /** By one reader at a time. Ends when the line was closed and is empty, or when the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<T, void> {
    while (!signal.aborted) {
      const item = this.#waiting.shift();
      if (item !== undefined) yield item;
      else if (this.#closed) return;
      else await bestEffort(this.#bell.wait(signal));
    }
  }
}
