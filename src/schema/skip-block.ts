/** The kind of the last token: a value (a slash divides it), something that a value follows (a slash begins a pattern), one of them, a word, a dot. */
type Last = typeof value | typeof operator | typeof either | typeof word | typeof member;
const [value, operator, either, word, member] = [0, 1, 2, 3, 4] as const;

const beforeValues = new Set(
  "return typeof case in instanceof delete void throw new else do extends default".split(" "),
);
/** Names in one place, key words in another. */
const contextual = new Set(["of", "yield", "await", "let", "async", "static"]);
const headers = new Set(["if", "while", "for", "with"]);

/** The token that a character of ASCII begins. Digits count as letters: numbers end where names do. */
const [blank, newline, letter] = [1, 2, 3] as const;
const kinds = new Uint8Array(128);
for (let code = 0; code < 128; code++) {
  const char = String.fromCharCode(code);
  if (/[\w$#\\]/.test(char)) kinds[code] = letter;
  else if (/[\n\r]/.test(char)) kinds[code] = newline;
  else if (/\s/.test(char)) kinds[code] = blank;
}

/**
 * The index of the `}` that closes the block at `open` (`source[open]` is its `{`), found from the characters alone. That is
 * exact in valid code while it is clear whether a slash divides or begins a regular expression. Undefined if it is not clear,
 * or if the end does not come before `limit`. The parser must read the block then.
 *
 * Source: ECMA-262, 12 (lexical grammar); held against acorn on the code of this project's dependencies.
 */
export function endOfBlock(source: string, open: number, limit: number): number | undefined {
  const end = Math.min(limit, source.length);
  /** For each open brace, whether it is a template's `${`; the block's own is not among them. */
  const braces: boolean[] = [];
  /** For each open parenthesis, the meaning of its end for a slash behind it. */
  const parentheses: Last[] = [];
  let last: Last = operator;
  let wordAt = 0;
  let lineBegins = false;

  for (let at = open + 1; at < end; ) {
    const code = source.charCodeAt(at);
    const kind = code < 128 ? kinds[code] : letter;
    if (kind === blank) {
      at++;
      continue;
    }
    if (kind === newline) {
      lineBegins = true;
      at++;
      continue;
    }
    if (kind === letter) {
      wordAt = at;
      at = endOfWord(source, at);
      if (at < 0) return undefined;
      last = last === member ? value : word; // a property may bear any name
      lineBegins = false;
      continue;
    }
    if (code === slash) {
      const next = source.charCodeAt(at + 1);
      if (next === star || next === slash) {
        at = endOfComment(source, at);
        lineBegins = true; // perhaps
        continue;
      }
      const before: Last = last === word ? wordBefore(source, wordAt, at) : last;
      if (before === either) return undefined;
      at = before === value ? at + 1 : endOfPattern(source, at, end);
      last = before === value ? operator : value;
    } else if (code === quote || code === apostrophe) {
      at = endOfString(source, at, code, end);
      last = value;
    } else if (code === backtick || code === braceClose) {
      const isTemplate = code === backtick || braces.pop();
      if (isTemplate === undefined) return at;
      if (isTemplate) {
        at = endOfTemplate(source, at, end);
        const isHole = source.charCodeAt(at - 1) === braceOpen;
        if (isHole) braces.push(true);
        last = isHole ? operator : value;
      } else {
        at++;
        last = either;
      }
    } else if (code === braceOpen) {
      braces.push(false);
      at++;
      last = operator;
    } else if (code === parenthesisOpen) {
      parentheses.push(last === word ? parenthesisAfter(source, wordAt, at) : value);
      at++;
      last = operator;
    } else if (code === parenthesisClose) {
      last = parentheses.pop() ?? value;
      at++;
    } else if (code === bracketClose) {
      last = value;
      at++;
    } else if ((code === plus || code === minus) && source.charCodeAt(at + 1) === code) {
      // `-->` at the beginning of a line is an old form of comment.
      if (code === minus && lineBegins && source[at + 2] === ">") return undefined;
      last = value; // no pattern follows `++`, before or behind its operand
      at += 2;
    } else {
      if (code === less && source.startsWith("<!--", at)) return undefined; // as above
      const isSpread = code === dot && source.startsWith("...", at);
      last = code === dot && !isSpread ? member : operator;
      at += isSpread ? 3 : 1;
    }
    if (at <= 0) return undefined;
    lineBegins = false;
  }
  return undefined;
}

const [slash, star, quote, apostrophe, backtick] = [0x2f, 0x2a, 0x22, 0x27, 0x60];
const [braceOpen, braceClose, parenthesisOpen, parenthesisClose, bracketClose] = [0x7b, 0x7d, 0x28, 0x29, 0x5d];
const [plus, minus, less, dot, backslash, dollar, bracketOpen] = [0x2b, 0x2d, 0x3c, 0x2e, 0x5c, 0x24, 0x5b];

/** Behind the name, key word or number that begins at `at`; -1 where it holds what may be a blank beyond ASCII. */
function endOfWord(source: string, at: number): number {
  const first = source.charCodeAt(at);
  const isNumber = first >= 0x30 && first <= 0x39;
  for (let next = at; ; next++) {
    const code = source.charCodeAt(next);
    if (code < 128 ? kinds[code] !== letter && !(isNumber && code === dot) : Number.isNaN(code)) return next;
    if (code > 127 && isRare(code)) return -1;
  }
}

/** The kind of a word that is no property, for the slash behind it. */
function wordBefore(source: string, at: number, end: number): Last {
  const text = source.slice(at, Math.min(end, at + 12)).replace(/[\s/][\s\S]*$/, "");
  if (beforeValues.has(text) || headers.has(text)) return operator;
  return contextual.has(text) ? either : value;
}

/** The kind of a closing parenthesis behind a word, for the slash after it: a statement follows that of `if`, a call is a value. */
function parenthesisAfter(source: string, at: number, end: number): Last {
  if (end - at > 64) return either;
  const text = source.slice(at, end).replace(/[\s/][\s\S]*$/, "");
  if (text === "await") return either; // `for await (…)`
  return headers.has(text) ? operator : value;
}

function endOfComment(source: string, at: number): number {
  if (source.charCodeAt(at + 1) === star) {
    const end = source.indexOf("*/", at + 2);
    return end < 0 ? source.length : end + 2;
  }
  let end = at + 2;
  while (end < source.length && !isLineEnd(source.charCodeAt(end))) end++;
  return end + 1;
}

function endOfString(source: string, at: number, mark: number, end: number): number {
  for (let next = at + 1; next < end; next++) {
    const code = source.charCodeAt(next);
    if (code === mark) return next + 1;
    if (code === backslash) next++;
    else if (code === 0x0a || code === 0x0d) return -1;
  }
  return -1;
}

/** From a backtick, or from the brace that ends a hole, to behind the next `${` or the end. */
function endOfTemplate(source: string, at: number, end: number): number {
  for (let next = at + 1; next < end; next++) {
    const code = source.charCodeAt(next);
    if (code === backslash) next++;
    else if (code === backtick) return next + 1;
    else if (code === dollar && source.charCodeAt(next + 1) === braceOpen) return next + 2;
  }
  return -1;
}

/** Behind the second slash; the flags are read as a name. */
function endOfPattern(source: string, at: number, end: number): number {
  let inClass = false;
  for (let next = at + 1; next < end; next++) {
    const code = source.charCodeAt(next);
    if (isLineEnd(code)) return -1;
    if (code === backslash) next++;
    else if (code === bracketOpen) inClass = true;
    else if (code === bracketClose) inClass = false;
    else if (code === slash && !inClass) return next + 1;
  }
  return -1;
}

function isLineEnd(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x2028 || code === 0x2029;
}

/** Blanks and line ends beyond ASCII, and similar characters: too rare to be distinguished here. */
function isRare(code: number): boolean {
  return code === 0xa0 || code === 0xfeff || code === 0x1680 || (code >= 0x2000 && code <= 0x206f) || code === 0x3000;
}

/** Decides which blocks of a bundle need not be parsed. */
export interface Skipper {
  /** The index of the `}` of the block that opens at `open`, if nothing in it concerns protobuf; undefined: parse it. */
  endOf(open: number): number | undefined;
}

/**
 * Words that stand in all generated code, since no minifier renames them.
 * Source: docs/dev/wire/extension-bundle.md, "Generated code".
 */
const words = ["typeName", "newFieldList", "setEnumType", "makeEnum", "makeMessageType", "fileDesc", "no:"];

/** How many times its own length of a bundle is looked through for ends of blocks; a hostile one cannot make it more. */
const mostPasses = 6;

/** Notes where in `source` the words of generated code stand. */
export function createSkipper(source: string): Skipper {
  const places = placesOf(source);
  let left = source.length * mostPasses;
  let next = 0;

  return {
    endOf(open) {
      while (next > 0 && (places[next - 1] ?? 0) > open) next--;
      while ((places[next] ?? Number.POSITIVE_INFINITY) < open) next++;
      if (left <= 0) return undefined;
      const limit = Math.min(places[next] ?? source.length, open + left);
      const end = endOfBlock(source, open, limit);
      left -= (end ?? limit) - open;
      return end;
    },
  };
}

function placesOf(source: string): Float64Array {
  const places: number[] = [];
  for (const word of words) {
    for (let at = source.indexOf(word); at >= 0; at = source.indexOf(word, at + word.length)) places.push(at);
  }
  return Float64Array.from(places).sort();
}
