/** How long a request may hold up the next one when the server is slow to answer it. */
const holdMs = 10;

interface Entry {
  readonly write: () => void;
  readonly leave: () => void;
  timer?: NodeJS.Timeout;
}

/**
 * Sends requests so that the server reads them in order, although each uses another connection. A request is written
 * once the server began to answer the one before it, or 10 ms after that one was written.
 *
 * Source: docs/wire/language-server.md, "Order of the requests".
 */
export class RequestOrder {
  readonly #waiting = new Set<Entry>();
  #current: Entry | undefined;

  /** Calls `write` when it is this request's turn. The result ends the turn, or takes a request that still waits out. */
  enter(write: () => void): () => void {
    const leave = () => {
      if (this.#waiting.delete(entry) || this.#current !== entry) return;
      clearTimeout(entry.timer);
      this.#current = undefined;
      this.#next();
    };
    const entry: Entry = { write, leave };
    this.#waiting.add(entry);
    if (this.#current === undefined) this.#next();
    return leave;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    this.#current = first;
    // An answer that arrived while the process was busy is read before the next request is written.
    first.timer = setTimeout(() => setImmediate(first.leave), holdMs);
    first.write();
  }
}
