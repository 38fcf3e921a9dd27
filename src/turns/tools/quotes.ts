/** The texts of a request, to find blocks of an answer that the model only quotes from them. */
export class Quotes {
  readonly #texts: readonly string[];
  #there: readonly number[] | undefined;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  /**
   * Whether a text holds the words and signs of the block side by side, in any order: a model may sort the members of an object.
   * White space, quotation marks, commas, escapes, the marks of tags, and what tools put before each line of a file (numbers, `>`,
   * `+`, the signs of comments) do not count.
   */
  has(block: string): boolean {
    this.#there ??= this.#texts
      .map(decoded)
      .flatMap((text) => [...words(text), 0, ...words(text.replace(lineStart, "")), 0]);
    const there = this.#there;
    const wanted = words(decoded(block));
    const { length } = wanted;
    const sorted = wanted.toSorted().join();
    // a sum tells nearly all other places apart
    let difference = -wanted.reduce((total, word) => total + word, 0);
    return there.some((word, end) => {
      difference += word - (there[end - length] ?? 0);
      const from = end - length + 1;
      return (
        difference === 0 &&
        from >= 0 &&
        there
          .slice(from, end + 1)
          .toSorted()
          .join() === sorted
      );
    });
  }
}

/** What stands before each line of a file where a tool, a quotation or a comment shows it. */
const lineStart = /^[ \t]*(?:(?:[^\s:|]{1,200}[:-])?\d{1,7}[ \t]*[→|:\t-][ \t]?|(?:[+>|*#;%-]|\/\/|<!--){1,8}[ \t]?)/gm;

const escape = /\\([nrt])|\\u00([0-9a-f]{2})|&(?:#(\d{2,3})|#x([0-9a-f]{2})|(lt|gt|quot|apos|amp));/gi;
const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** A text without the escapes of JSON and of HTML. */
function decoded(text: string): string {
  return text.replace(escape, (_, ...groups: (string | undefined)[]) => {
    const [space, hex, decimal, hexadecimal, name = ""] = groups;
    if (space !== undefined) return "\n";
    const code = decimal === undefined ? Number.parseInt(hex ?? hexadecimal ?? "", 16) : Number(decimal);
    return named[name.toLowerCase()] ?? String.fromCharCode(code);
  });
}

const mark = /(tool_(?:call|result))-[a-z2-9]{7}(?=[\s>])/g;
const unseen = /[\\\u200b-\u200d\ufeff]/g;
const signs = String.raw`!#-&(-+\--/:-@[-^{-~`;
const word = new RegExp(`[${signs}]|[^\\s,"'\`“”„‘’«»${signs}]+`, "g");

/** A number for each word and each sign of a text, in order; equal ones have equal numbers, never 0. */
function words(text: string): readonly number[] {
  const found = text.replace(mark, "$1").replace(unseen, "").match(word) ?? [];
  return found.map((one) => {
    let hash = 0x811c_9dc5; // FNV-1a
    for (let at = 0; at < one.length; at++) hash = Math.imul(hash ^ one.charCodeAt(at), 0x0100_0193);
    return hash >>> 0 || 1;
  });
}
