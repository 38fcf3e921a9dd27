/** Splits text that arrives in pieces into lines. A line of more than `longest` characters throws a `RangeError`. */
export class TextLines {
  readonly #longest: number;
  #parts: string[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Whether the text ends in the middle of a line. */
  get hasHalf(): boolean {
    return this.#parts.length > 0;
  }

  /** The lines that are complete with this text, without their ends. */
  feed(text: string): readonly string[] {
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    const first = lines[0];
    if (first !== undefined && this.#parts.length > 0) {
      lines[0] = this.#parts.join("") + first;
      this.#parts = [];
      this.#length = 0;
    }
    if (rest !== "") {
      this.#parts.push(rest);
      this.#length += rest.length;
      if (this.#length > this.#longest) throw new RangeError("a line is too long");
    }
    return lines;
  }
}
