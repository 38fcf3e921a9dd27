/** The texts of a request, to find blocks of an answer that the model only quotes from them. */
export class Quotes {
  readonly #texts: readonly string[];
  #haystack: string | undefined;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  /**
   * Whether a text holds the block word for word. White space, quotation marks, commas, escapes, the marks of tags, and what tools put
   * before each line of a file (numbers, `>`, `+`, the signs of comments) do not count.
   */
  has(block: string): boolean {
    this.#haystack ??= this.#texts
      .map(decoded)
      .flatMap((text) => [plain(text), plain(text.replace(lineStart, ""))])
      .join("\n");
    return this.#haystack.includes(plain(decoded(block)));
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

function plain(text: string): string {
  return text.replace(mark, "$1").replace(/[\s\\,"'`“”„‘’«»\u200b-\u200d\ufeff]/g, "");
}

const mark = /(tool_(?:call|result))-[a-z2-9]{7}(?=[\s>])/g;
