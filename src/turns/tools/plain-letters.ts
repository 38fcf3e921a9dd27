/**
 * Reads a text as its letters, however it is written: without the tags of HTML, comments, colours, marks and white space, and without
 * escapes of JSON, HTML, addresses and mails, also in each other. In place, because no escape is longer than what it stands for.
 */
export class PlainText {
  readonly #codes: Uint16Array;
  #length: number;
  /** Tags that are words of the text: those of the calls that are looked for. */
  readonly #kept: ReadonlySet<number>;

  constructor(text: string, kept: Iterable<string>) {
    const bytes = Buffer.from(text, "utf16le");
    this.#codes = new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    this.#length = this.#codes.length;
    this.#kept = new Set(Array.from(kept, hashOf));
    for (let round = 0; round < mostRounds && this.#decode(); round++);
  }

  get codes(): Uint16Array {
    return this.#codes.subarray(0, this.#length);
  }

  /** Whether anything was decoded or left out. */
  #decode(): boolean {
    const codes = this.#codes;
    const before = this.#length;
    let to = 0;
    for (let at = 0; at < before; ) {
      const code = codes[at] ?? 0;
      const end = special[code] === 1 ? this.#end(code, at) : at;
      if (end > at) {
        if (this.#decoded > 0) codes[to++] = this.#decoded;
        at = end;
      } else {
        codes[to++] = code;
        at++;
      }
    }
    this.#length = to;
    return to < before;
  }

  /** What the last special text stands for; 0 for nothing. */
  #decoded = 0;

  /** The end of what begins here and is no text as it stands; `at` if it is text. */
  #end(code: number, at: number): number {
    this.#decoded = 0;
    switch (code) {
      case 0x1b:
        return this.#colour(at);
      case 0x3c:
        return this.#tag(at);
      case 0x2f:
        return this.#comment(at);
      case 0x26:
        return this.#entity(at);
      case 0x25:
        return this.#at(at + 1) === 0x75 ? this.#hex(at, 2, 4) : this.#hex(at, 1, 2);
      case 0x3d:
        return this.#at(at + 1) === 0x0a ? at + 2 : isCapitalHex(this.#at(at + 1)) ? this.#hex(at, 1, 2) : at;
      default:
        return this.#backslash(at);
    }
  }

  #at(at: number): number {
    return at < this.#length ? (this.#codes[at] ?? 0) : 0;
  }

  /** `digits` hexadecimal ones after `skip` characters. */
  #hex(at: number, skip: number, digits: number): number {
    let value = 0;
    for (let i = 0; i < digits; i++) {
      const digit = hexDigit(this.#at(at + skip + i));
      if (digit < 0) return at;
      value = value * 16 + digit;
    }
    this.#decoded = value;
    return at + skip + digits;
  }

  #backslash(at: number): number {
    const next = this.#at(at + 1);
    if (next === 0x75 && this.#at(at + 2) === 0x7b) return this.#braced(at);
    const hex = next === 0x75 ? this.#hex(at, 2, 4) : next === 0x78 ? this.#hex(at, 2, 2) : at;
    if (hex > at) return hex;
    if (next === 0x6e || next === 0x72 || next === 0x74) {
      this.#decoded = 0x0a;
      return at + 2;
    }
    const octal = this.#octal(at);
    if (octal > at) return octal;
    if (next !== 0x5c) return at + 1;
    this.#decoded = next;
    return at + 2;
  }

  /** `\u{62}` */
  #braced(at: number): number {
    let value = 0;
    for (let to = at + 3; to < at + 10; to++) {
      const code = this.#at(to);
      if (code === 0x7d) {
        this.#decoded = value & 0xffff;
        return to + 1;
      }
      const digit = hexDigit(code);
      if (digit < 0) break;
      value = value * 16 + digit;
    }
    return at + 1;
  }

  /** `\142` */
  #octal(at: number): number {
    let value = 0;
    for (let i = 1; i <= 3; i++) {
      const digit = this.#at(at + i) - 0x30;
      if (digit < 0 || digit > 7) return at;
      value = value * 8 + digit;
    }
    this.#decoded = value;
    return at + 4;
  }

  #entity(at: number): number {
    const isNumber = this.#at(at + 1) === 0x23;
    const isHex = isNumber && (this.#at(at + 2) | 0x20) === 0x78;
    const from = at + (isHex ? 3 : isNumber ? 2 : 1);
    let [to, value] = [from, 0];
    for (; to < from + longestEntity && isWord(this.#at(to)); to++) {
      const digit = hexDigit(this.#at(to));
      if (isNumber && (digit < 0 || (digit > 9 && !isHex))) break;
      value = isNumber ? value * (isHex ? 16 : 10) + digit : hashed(value, this.#at(to) | 0x20);
    }
    const code = isNumber ? value & 0xffff : named.get(value);
    if (to === from || code === undefined) return at;
    this.#decoded = code;
    return this.#at(to) === 0x3b ? to + 1 : to;
  }

  #colour(at: number): number {
    const kind = this.#at(at + 1);
    const isLink = kind === 0x5d;
    if (!isLink && kind !== 0x5b) return at + 1;
    for (let to = at + 2; to < at + (isLink ? longestTag : 24); to++) {
      const code = this.#at(to);
      if (isLink ? code === 0x07 || code === 0x1b : isLetter(code)) return to + (code === 0x1b ? 2 : 1);
    }
    return at + 1;
  }

  /** A comment, or a tag that is not kept. */
  #tag(at: number): number {
    let from = at + 1;
    if (this.#at(from) === 0x21 && this.#at(from + 1) === 0x2d) {
      for (let to = from + 1; to < at + longestTag && this.#at(to) !== 0x3c; to++)
        if (this.#at(to) === 0x3e && this.#at(to - 1) === 0x2d) return to + 1;
      return at;
    }
    if (this.#at(from) === 0x2f) from++;
    if (!isLetter(this.#at(from))) return at;
    let [nameEnd, name] = [from, 0];
    for (; nameEnd < from + longestName && isNamePart(this.#at(nameEnd)); nameEnd++)
      name = hashed(name, this.#at(nameEnd) | 0x20);
    for (let to = nameEnd; to < at + longestTag; to++) {
      const code = this.#at(to);
      if (code === 0x3c || code === 0) return at;
      if (code === 0x3e) return this.#kept.has(name) ? at : to + 1;
    }
    return at;
  }

  #comment(at: number): number {
    if (this.#at(at + 1) !== 0x2a) return at;
    for (let to = at + 3; to < at + longestComment; to++) {
      if (this.#at(to) === 0x2f) return this.#at(to - 1) === 0x2a ? to + 1 : at;
      if (this.#at(to) === 0x0a) return at;
    }
    return at;
  }
}

/** An escape in an escape in an escape, and what was left out between. */
const mostRounds = 5;
const longestTag = 400;
const longestName = 40;
const longestComment = 80;
const longestEntity = 12;

const special = new Uint8Array(0x1_0000);
for (const char of "\u001b</&%=\\") special[char.charCodeAt(0)] = 1;

/** Names of HTML, each with its sign; white space of any kind is one that does not break. */
const named = new Map(
  String.raw`lt< gt> quot" apos' amp& lbrace{ lcub{ rbrace} rcub} lbrack[ lsqb[ rbrack] rsqb] lpar( rpar) colon: comma, lowbar_ sol/ bsol\ equals= percnt% num# hyphen-`
    .split(" ")
    .concat(["nbsp", "shy", "zwnj", "zwj", "tab", "newline"].map((name) => `${name}\u00a0`))
    .map((entry) => [hashOf(entry.slice(0, -1)), entry.charCodeAt(entry.length - 1)]),
);

function hashOf(name: string): number {
  return Array.from(name).reduce((hash, char) => hashed(hash, char.charCodeAt(0) | 0x20), 0);
}

/** FNV-1a, never 0. */
export function hashed(before: number, code: number): number {
  return Math.imul((before || 0x811c_9dc5) ^ code, 0x0100_0193) >>> 0 || 1;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 && code < 0x80 ? lower - 0x57 : -1;
}

function isCapitalHex(code: number): boolean {
  return code >= 0x32 && code <= 0x37; // printable ASCII
}

function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a && code < 0x80;
}

function isWord(code: number): boolean {
  return isLetter(code) || (code >= 0x30 && code <= 0x39);
}

function isNamePart(code: number): boolean {
  return isWord(code) || code === 0x2d || code === 0x2e || code === 0x3a || code === 0x5f;
}
