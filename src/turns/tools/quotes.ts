/** The texts of a request, to find blocks of an answer that the model only quotes from them. */
export class Quotes {
  readonly #texts: readonly string[];
  #read: Comparable | undefined;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  /**
   * Whether the texts hold the block: either its very characters side by side, or all its words and signs close together, in any order.
   * So it is found where lines were broken elsewhere, and where a tool wrote something of its own before or after each line of a file.
   * White space, quotation marks, commas, equals signs (a mail has one where it breaks a line), invisible characters, colours, escapes,
   * and the marks of tags do not count.
   */
  has(block: string): boolean {
    this.#read ??= read(this.#texts.join("\n"));
    const there = this.#read;
    return [...new Set([block, block.replace(mark, "$1")])].some((written) => {
      const { chars, words } = read(written);
      const isCut = /\w$/.test(written); // in the middle of a word
      const added = words.length < manyWords ? 0 : words.length + addedToLine * written.split("\n").length;
      return (
        holdsInRow(there.chars, chars) ||
        holdsNear(there.words, isCut ? words.subarray(0, -1) : words, words.length + added)
      );
    });
  }
}

/** How many words and signs a tool may add to each line: who changed it and when, for example. */
const addedToLine = 32;
/** Fewer words and signs are near each other by chance, as those of `bash(command="ls")` in a sentence about it: nothing may be between them. */
const manyWords = 10;

const mark = /(tool_(?:call|result))-[a-z2-9]{7}(?=[\s>])/g;

/** Ways to write a character: in JSON and programs, in HTML (also escaped twice), in an address, in a mail. */
const escape =
  /\\([nrt])|\\(?:u00|x)([0-9a-f]{2})|&(?:amp;){0,9}(?:#(\d{2,3})|#x([0-9a-f]{2})|([a-z]{2,6}));|((?:%[0-9a-f]{2})+)|=3D/gi;
const named = new Map(
  Object.entries({
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    amp: "&",
    nbsp: " ",
    lbrace: "{",
    rbrace: "}",
    lcub: "{",
    rcub: "}",
  }),
);
const escapeKey = "\u001b";
const colour = new RegExp(`${escapeKey}\\[[\\d;]{0,20}[A-Za-z]`, "g");

/** A text without escapes and colours. */
function decoded(text: string): string {
  const plain = text.replace(escape, (whole, ...groups: (string | undefined)[]) => {
    const [space, hex, decimal, hexadecimal, name, bytes] = groups;
    if (space !== undefined) return "\n";
    if (whole.startsWith("=")) return "=";
    if (bytes !== undefined) return Buffer.from(bytes.replaceAll("%", ""), "hex").toString();
    if (name !== undefined) return named.get(name.toLowerCase()) ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? hexadecimal ?? "", 16) : Number(decimal);
    return String.fromCharCode(code);
  });
  return plain.includes(escapeKey) ? plain.replace(colour, "") : plain;
}

/** How a character counts: as a part of a word, as a sign of its own, as what stands between words, or not at all. */
const [part, sign, between, unseen] = [0, 1, 2, 3];
const kinds = new Uint8Array(0x1_0000);
for (let code = 0; code < kinds.length; code++) {
  const char = String.fromCharCode(code);
  if (/[\\\p{Cf}]/u.test(char)) kinds[code] = unseen;
  else if (/[\s,="'`“”„‘’«»]/.test(char)) kinds[code] = between;
  else if (/(?!_)[\p{P}\p{S}]/u.test(char)) kinds[code] = sign;
}

/** A text as it is compared. */
interface Comparable {
  /** The low byte of each character that counts. */
  readonly chars: Uint8Array;
  /** A hash of each word and each sign. */
  readonly words: Uint16Array;
}

function read(text: string): Comparable {
  const all = decoded(text);
  const chars = new Uint8Array(all.length);
  const words = new Uint16Array(all.length);
  let [length, count, word] = [0, 0, 0];
  for (let at = 0; at <= all.length; at++) {
    let code = all.charCodeAt(at);
    if (code >= 0xff01 && code <= 0xff5e) code -= 0xfee0; // a full-width letter or sign
    const kind = at === all.length ? between : kinds[code];
    if (kind === part || kind === sign) chars[length++] = code;
    if (kind === part) word = hashed(word, code);
    else if (kind !== unseen) {
      if (word !== 0) words[count++] = word ^ (word >>> 16);
      word = 0;
      if (kind === sign) words[count++] = code;
    }
  }
  return { chars: chars.subarray(0, length), words: words.subarray(0, count) };
}

/** FNV-1a, never 0. */
function hashed(before: number, code: number): number {
  return Math.imul((before || 0x811c_9dc5) ^ code, 0x0100_0193) >>> 0 || 1;
}

/** Whether the bytes stand in the text. The hash of a window that moves over it keeps the time linear. */
function holdsInRow(text: Uint8Array, wanted: Uint8Array): boolean {
  const { length } = wanted;
  const base = 0x0100_0193;
  let [first, hash, there] = [1, 0, 0];
  for (const byte of wanted) {
    hash = (Math.imul(hash, base) + byte) | 0;
    first = Math.imul(first, base);
  }
  for (let at = 0; at < text.length; at++) {
    there =
      (Math.imul(there, base) + (text[at] ?? 0) - (at < length ? 0 : Math.imul(first, text[at - length] ?? 0))) | 0;
    if (there === hash && at >= length - 1 && isSame(text.subarray(at - length + 1, at + 1), wanted)) return true;
  }
  return length === 0;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, at) => byte === b[at]);
}

/** Whether all the words stand within so many words of the text. */
function holdsNear(text: Uint16Array, wanted: Uint16Array, most: number): boolean {
  const lacking = new Int32Array(0x1_0000);
  for (const word of wanted) lacking[word] = (lacking[word] ?? 0) + 1;
  let missing = wanted.length;
  for (let at = 0; at < text.length && missing > 0; at++) {
    const word = text[at] ?? 0;
    const left = lacking[word] ?? 0;
    lacking[word] = left - 1;
    if (left > 0) missing--;
    if (at < most) continue;
    const gone = text[at - most] ?? 0;
    const now = (lacking[gone] ?? 0) + 1;
    lacking[gone] = now;
    if (now > 0) missing++;
  }
  return missing === 0;
}
