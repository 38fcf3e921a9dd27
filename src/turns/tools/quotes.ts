/** The texts of a request, to find blocks of an answer that the model only quotes from them. */
export class Quotes {
  readonly #texts: readonly string[];
  #there: Uint32Array | undefined;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  /**
   * Whether a text holds the words and signs of the block side by side, in any order: a model may sort the members of an object.
   * White space, quotation marks, commas, escapes, the marks of tags, and what tools put before each line of a file (numbers, `>`,
   * `+`, the signs of comments) do not count.
   */
  has(block: string): boolean {
    this.#there ??= joined(
      this.#texts.map(decoded).flatMap((text) => [hashes(text), hashes(text.replace(lineStart, ""))]),
    );
    const there = this.#there;
    const wanted = hashes(decoded(block));
    const { length } = wanted;
    const sorted = wanted.toSorted().join();
    // a sum tells nearly all other places apart
    let difference = -sum(wanted);
    for (let end = 0; end < there.length; end++) {
      difference += (there[end] ?? 0) - (there[end - length] ?? 0);
      if (
        difference === 0 &&
        there
          .slice(Math.max(0, end - length + 1), end + 1)
          .toSorted()
          .join() === sorted
      )
        return true;
    }
    return false;
  }
}

function sum(numbers: Uint32Array): number {
  return numbers.reduce((total, number) => total + number, 0);
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

/** How a character counts: as a part of a word, as a sign of its own, as what stands between words, or not at all. */
const [part, sign, between, unseen] = [0, 1, 2, 3];
const kinds = new Uint8Array(0x1_0000);
for (let code = 0; code < kinds.length; code++) {
  const char = String.fromCharCode(code);
  if (/[\\\u200b-\u200d\ufeff]/.test(char)) kinds[code] = unseen;
  else if (/[\s,"'`“”„‘’«»]/.test(char)) kinds[code] = between;
  else if (/[!-/:-@[-^{-~]/.test(char)) kinds[code] = sign;
}

/** A number for each word and each sign of a text, in order; equal ones have equal numbers. */
function hashes(text: string): Uint32Array {
  const all = text.replace(mark, "$1");
  const found = new Uint32Array(all.length);
  let count = 0;
  let word = 0;
  for (let at = 0; at <= all.length; at++) {
    const code = all.charCodeAt(at);
    const kind = at === all.length ? between : kinds[code];
    if (kind === part) word = hashed(word, code);
    else if (kind !== unseen) {
      if (word !== 0) found[count++] = word;
      word = 0;
      if (kind === sign) found[count++] = hashed(0, code);
    }
  }
  return found.slice(0, count);
}

/** FNV-1a, never 0. */
function hashed(before: number, code: number): number {
  return Math.imul((before || 0x811c_9dc5) ^ code, 0x0100_0193) >>> 0 || 1;
}

/** All of them in a row, with a 0 between two texts, which no word has. */
function joined(texts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(texts.reduce((total, { length }) => total + length + 1, 0));
  let at = 0;
  for (const text of texts) {
    all.set(text, at);
    at += text.length + 1;
  }
  return all;
}

const mark = /(tool_(?:call|result))-[a-z2-9]{7}(?=[\s>])/g;
