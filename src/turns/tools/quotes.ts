import { alikeIn } from "./alike.ts";
import { hashed, PlainText } from "./plain-letters.ts";

/** The texts of a request, to find blocks of an answer that the model only quotes from them. */
export class Quotes {
  readonly #texts: readonly string[];

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  /**
   * Those of the blocks that the texts hold. A block is there if its letters and digits stand side by side, but for one other letter in
   * about twenty; or if all its words and signs stand close together, in any order. So it is found where lines were broken elsewhere, and
   * where a tool wrote something of its own before or after each line of a file. White space, marks, case, invisible characters, colours,
   * comments, escapes, and tags that are no part of the blocks do not count. A block of few letters is compared with its signs.
   */
  find(blocks: readonly string[]): ReadonlySet<string> {
    const kept = new Set(blocks.flatMap(tagsOf));
    const has = new Uint8Array(0x1_0000);
    const there = this.#texts.flatMap((text) => [text, hiddenText(text)]).map((text) => read(text, kept, has));
    const wanted = blocks.map((block) => ({ block, ...read(block, kept) }));
    const long = wanted.filter(({ letters }) => letters.length >= manyLetters);
    const alike = alikeIn(
      there.map(({ letters }) => letters),
      long.map(({ letters }) => letters),
    );
    const found = new Set(long.flatMap(({ block }, at) => (alike.has(at) ? [block] : [])));
    for (const { block, letters, chars, words } of wanted) {
      if (found.has(block)) continue;
      const isCut = /\w$/.test(block); // in the middle of a word
      const near = new NearWords(isCut ? words.subarray(0, -1) : words);
      const mayBeNear = near.wanted.every((word) => has[word] === 1);
      const added = words.length < manyWords ? 0 : words.length + addedToLine * block.split("\n").length;
      const isShort = letters.length < manyLetters;
      const isThere = there.some(
        (text) =>
          (isShort && holdsInRow(text.chars, chars)) || (mayBeNear && near.areIn(text.words, words.length + added)),
      );
      if (isThere) found.add(block);
    }
    return found;
  }
}

/** How many words and signs a tool may add to each line: who changed it and when, for example. */
const addedToLine = 32;
/** Fewer words and signs are near each other by chance, as those of `bash(command="ls")` in a sentence about it: nothing may be between them. */
const manyWords = 10;
/** Fewer letters stand side by side by chance, as those of `bash(command="ls")` in "the bash command ls". */
const manyLetters = 20;

const mark = /(tool_(?:call|result))-[a-z2-9]{7}(?=[\s>/])/gi;
/** Tags that only say how a text looks. */
const looks = /^(?:span|wbr|b|i|em|strong|mark|code|pre|font|u|s|small|big|sub|sup|kbd|samp|var|tt|del|ins|br|div|p)$/;

/** The tags of a block, but for those inside it that only say how a text looks. */
function tagsOf(block: string): readonly string[] {
  const [first = "", ...others] = Array.from(block.replace(mark, "$1").matchAll(/<\/?([a-z][\w.:-]*)/gi), (tag) =>
    (tag[1] ?? "").toLowerCase(),
  );
  return [first, ...others.filter((name) => !looks.test(name))];
}

const tagCharacters = /[\u{e0020}-\u{e007e}]+/gu;

/** What a text says in tag characters, which nobody sees. */
function hiddenText(text: string): string {
  if (!text.includes("\udb40")) return "";
  return Array.from(text.matchAll(tagCharacters), ([run]) => run)
    .join("")
    .replace(/\udb40./g, (char) => String.fromCharCode(char.charCodeAt(1) - 0xdc00));
}

/** How a character counts: as a letter or digit of this code, or as one of these. */
const [unseen, between, sign] = [0, 1, 2];
/** Letters and digits that look like a Latin letter: Cyrillic, Greek and Armenian ones among them. */
const lookalikes = new Map(
  [
    "a\u0430\u03b1\u0251",
    "b\u0432\u0184",
    "c\u0441\u03f2",
    "d\u0501",
    "e\u0435\u0454",
    "g\u0581\u0261",
    "h\u043d\u04bb\u0570",
    "j\u0458\u03f3",
    "k\u043a\u03ba",
    "li1|\u0456\u0131\u03b9\u04cf",
    "m\u043c",
    "n\u0578",
    "o0\u043e\u03bf\u0585",
    "p\u0440\u03c1",
    "q\u051b",
    "r\u0433",
    "s\u0455",
    "t\u0442\u03c4",
    "u\u03c5\u057d",
    "v\u03bd\u0475",
    "w\u051d\u03c9",
    "x\u0445\u03c7",
    "y\u0443\u03b3",
  ].flatMap((row) => Array.from(row.slice(1), (one) => [one, row.charAt(0)] as const)),
);

let table: Uint16Array | undefined;

/** The kind of each character, made when it is first needed: one or two letters have one code if they look alike. */
function kindsOf(): Uint16Array {
  if (table !== undefined) return table;
  table = new Uint16Array(0x1_0000);
  for (let code = 0; code < table.length; code++) table[code] = kindOf(String.fromCharCode(code));
  return table;
}

function kindOf(char: string): number {
  if (/[\\\p{Cf}\p{DI}\p{Mn}\p{Me}\p{Cc}]/u.test(char) && !/\s/.test(char)) return unseen;
  if (/[\s,="'`“”„‘’«»_]/.test(char)) return char === "_" ? unseen : between;
  const [plain = char] = char.normalize("NFKD").toLowerCase();
  const letter = lookalikes.get(plain) ?? plain;
  if (/[\p{L}\p{N}]/u.test(letter)) return letter.charCodeAt(0);
  return /[\p{P}\p{S}]/u.test(char) ? sign : unseen;
}

/** `has`: gets 1 for each word and sign. */
function read(
  text: string,
  kept: ReadonlySet<string>,
  has = new Uint8Array(0x1_0000),
): {
  /** The low byte of each letter and digit. */
  readonly letters: Uint8Array;
  /** The same with signs. */
  readonly chars: Uint8Array;
  /** A hash of each word and each sign. */
  readonly words: Uint16Array;
} {
  const { codes } = new PlainText(text.replace(mark, "$1"), kept);
  const kinds = kindsOf();
  const letters = new Uint8Array(codes.length);
  const chars = new Uint8Array(codes.length);
  const words = new Uint16Array(codes.length + 1);
  let [letterCount, charCount, wordCount, word] = [0, 0, 0, 0];
  let lineStart = true;
  for (let at = 0; at <= codes.length; at++) {
    const code = codes[at] ?? 0x20;
    const kind = code === 0xd835 ? mathLetter(codes[++at] ?? 0) : (kinds[code] ?? unseen);
    if (lineStart && isDigit(code)) {
      const end = numberEnd(codes, at);
      if (end > at) {
        at = end - 1;
        continue;
      }
    }
    lineStart = code === 0x0a || (lineStart && (kind === between || kind === sign));
    if (kind > sign) {
      letters[letterCount++] = kind;
      chars[charCount++] = kind;
      word = hashed(word, kind);
    } else if (kind !== unseen) {
      if (word !== 0) {
        const hash = (word ^ (word >>> 16)) & 0xffff;
        words[wordCount++] = hash;
        has[hash] = 1;
      }
      word = 0;
      if (kind !== sign) continue;
      words[wordCount++] = code;
      has[code] = 1;
      chars[charCount++] = code;
    }
  }
  return {
    letters: letters.subarray(0, letterCount),
    chars: chars.subarray(0, charCount),
    words: words.subarray(0, wordCount),
  };
}

/** The letters of mathematics: the second half of their code. */
function mathLetter(low: number): number {
  const [plain = ""] = String.fromCharCode(0xd835, low).normalize("NFKD").toLowerCase();
  return /[\p{L}\p{N}]/u.test(plain) ? plain.charCodeAt(0) : unseen;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The end of the number of a line, as tools write it before the line; `at` where it is none. */
function numberEnd(codes: Uint16Array, at: number): number {
  let to = at;
  while (to < at + 7 && isDigit(codes[to] ?? 0)) to++;
  return /[\t :|.)\u2192-]/.test(String.fromCharCode(codes[to] ?? 0)) ? to : at;
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

/** Words that are looked for in several texts. */
class NearWords {
  /** How many of each are lacking in the window; negative where there are more. */
  readonly #lacking = new Int32Array(0x1_0000);
  readonly wanted: Uint16Array;

  constructor(wanted: Uint16Array) {
    this.wanted = wanted;
    for (const word of wanted) this.#lacking[word] = (this.#lacking[word] ?? 0) + 1;
  }

  /** Whether all of them stand within so many words of the text. */
  areIn(text: Uint16Array, most: number): boolean {
    if (text.length < this.wanted.length) return false;
    const lacking = this.#lacking;
    let missing = this.wanted.length;
    for (let at = 0; at < text.length + most; at++) {
      if (at < text.length) {
        const word = text[at] ?? 0;
        const left = lacking[word] ?? 0;
        lacking[word] = left - 1;
        if (left > 0) missing--;
        if (missing === 0) return true;
      }
      if (at < most) continue;
      const gone = text[at - most] ?? 0;
      const now = (lacking[gone] ?? 0) + 1;
      lacking[gone] = now;
      if (now > 0) missing++;
    }
    return false;
  }
}
