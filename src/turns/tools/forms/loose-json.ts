/** A JSON value read from a model's text. */
export interface LooseJson {
  readonly value: unknown;
  /** Where the value ends in the text. */
  readonly end: number;
}

const maxDepth = 200;
const constants: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
};
const quotes: Readonly<Record<string, string>> = { '"': '"', "'": "'", "“": "”" };
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * Reads the JSON value at `from`, forgiving only what loses nothing: trailing commas, comments, single and curly quotes
 * around strings, bare keys and bare words, Python's constants, raw line breaks and unknown escapes in strings, and with
 * `mayEndEarly` brackets that were never closed (strings must be). Undefined where a reading would be a guess.
 */
export function parseLooseJson(text: string, from = 0, mayEndEarly = false): LooseJson | undefined {
  const reader = new Reader(text, from, mayEndEarly);
  const value = reader.value(0);
  return value === failed ? undefined : { value, end: reader.at };
}

/** The place after the bracket that closes the one at `from`, or -1. Knows double-quoted strings and their escapes only. */
export function closingBracket(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let i = from; i < text.length; i++) {
    const char = text.charAt(i);
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      depth--;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

const failed = Symbol("no loss-free reading");

class Reader {
  at: number;
  readonly #text: string;
  readonly #mayEndEarly: boolean;

  constructor(text: string, from: number, mayEndEarly: boolean) {
    this.#text = text;
    this.at = from;
    this.#mayEndEarly = mayEndEarly;
  }

  value(depth: number): unknown {
    if (depth > maxDepth) return failed;
    this.#space();
    const char = this.#text.charAt(this.at);
    if (char === "{") return this.#object(depth);
    if (char === "[") return this.#array(depth);
    if (char in quotes) return this.#string();
    return this.#word();
  }

  #space(): void {
    for (;;) {
      const match = /\s*(?:\/\/[^\n]*|\/\*[^]*?\*\/|#[^\n]*)?/y;
      match.lastIndex = this.at;
      const length = match.exec(this.#text)?.[0].length ?? 0;
      if (length === 0) return;
      this.at += length;
    }
  }

  #object(depth: number): unknown {
    this.at++;
    const entries: [string, unknown][] = [];
    for (let first = true; ; first = false) {
      const next = this.#separator("}", first);
      if (next === "end") return fromEntries(entries);
      if (next === "wrong") return failed;
      const key = this.#key();
      if (key === undefined) return failed;
      this.#space();
      if (this.#text.charAt(this.at) !== ":") return failed;
      this.at++;
      const value = this.value(depth + 1);
      if (value === failed) return failed;
      entries.push([key, value]);
    }
  }

  #array(depth: number): unknown {
    this.at++;
    const items: unknown[] = [];
    for (let first = true; ; first = false) {
      const next = this.#separator("]", first);
      if (next === "end") return items;
      if (next === "wrong") return failed;
      const value = this.value(depth + 1);
      if (value === failed) return failed;
      items.push(value);
    }
  }

  /** Steps over a comma or the closing bracket. */
  #separator(close: string, first: boolean): "item" | "end" | "wrong" {
    this.#space();
    let comma = false;
    if (!first && this.#text.charAt(this.at) === ",") {
      comma = true;
      this.at++;
      this.#space();
    }
    if (this.at >= this.#text.length && this.#mayEndEarly) return "end";
    if (this.#text.charAt(this.at) === close) {
      this.at++;
      return "end";
    }
    return first || comma ? "item" : "wrong";
  }

  #key(): string | undefined {
    const char = this.#text.charAt(this.at);
    if (char in quotes) {
      const key = this.#string();
      return typeof key === "string" ? key : undefined;
    }
    const match = /[A-Za-z_$][\w$-]*/y;
    match.lastIndex = this.at;
    const bare = match.exec(this.#text)?.[0];
    if (bare === undefined) return undefined;
    this.at += bare.length;
    return bare;
  }

  #string(): unknown {
    const open = this.#text.charAt(this.at);
    const close = quotes[open];
    let result = "";
    for (let i = this.at + 1; i < this.#text.length; i++) {
      const char = this.#text.charAt(i);
      if (char === close) {
        this.at = i + 1;
        return result;
      }
      if (char === "\\") {
        i++;
        const escaped = this.#text.charAt(i);
        const code = this.#text.slice(i + 1, i + 5);
        if (escaped === "u" && /^[\da-f]{4}$/i.test(code)) {
          result += String.fromCharCode(Number.parseInt(code, 16));
          i += 4;
        } else if (escaped in escapes) result += escapes[escaped];
        else result += escaped === "'" || escaped === "\n" ? escaped : `\\${escaped}`;
      } else result += char;
    }
    return failed;
  }

  #word(): unknown {
    const match = /[^\s,:{}()[\]"'`<>]+/y;
    match.lastIndex = this.at;
    const word = match.exec(this.#text)?.[0];
    if (word === undefined) return failed;
    this.at += word.length;
    if (Object.hasOwn(constants, word)) return constants[word];
    if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(word)) return Number(word);
    return /^[A-Za-z_][\w./-]*$/.test(word) && !/^(?:NaN|Infinity|undefined)$/.test(word) ? word : failed;
  }
}

/** Not `Object.fromEntries` alone: a key `__proto__` must stay a key. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): Readonly<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    Object.defineProperty(result, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return result;
}
