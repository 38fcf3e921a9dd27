/** A set with a limit: the oldest items are forgotten first. An item that is added again counts as new. */
export class BoundedSet<Item> extends Set<Item> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override add(item: Item): this {
    this.delete(item);
    super.add(item);
    const [oldest] = this;
    if (this.size > this.#limit && oldest !== undefined) this.delete(oldest);
    return this;
  }
}
