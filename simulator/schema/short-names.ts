const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
/** Words of the language that are short enough to come up. */
const words = new Set(["as", "do", "if", "in", "is", "of", "for", "get", "let", "new", "set", "try", "var"]);

/** Hands out identifiers as a minifier does: `a` to `$`, then two letters, then three. */
export class ShortNames {
  readonly #taken: ReadonlySet<string>;
  #next = 0;

  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken);
  }

  next(): string {
    for (;;) {
      const name = spell(this.#next++);
      if (!this.#taken.has(name) && !words.has(name)) return name;
    }
  }
}

function spell(index: number): string {
  const last = letters.charAt(index % letters.length);
  return index < letters.length ? last : spell(Math.floor(index / letters.length) - 1) + last;
}
