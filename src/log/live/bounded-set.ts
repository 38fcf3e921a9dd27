/** Remembers texts, a bounded number of them: the oldest are forgotten first. */
export class BoundedSet {
  readonly #items = new Set<string>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  has(item: string): boolean {
    return this.#items.has(item);
  }

  add(item: string): void {
    this.#items.delete(item);
    this.#items.add(item);
    const [oldest] = this.#items;
    if (this.#items.size > this.#limit && oldest !== undefined) this.#items.delete(oldest);
  }
}
