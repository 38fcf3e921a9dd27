import { parsedJson } from "../arguments/json.ts";

/** A JSON value read from a model's text. */
export interface LooseJson {
  readonly value: unknown;
  /** Where the value ends in the text. */
  readonly end: number;
}

const maxDepth = 200;
const brackets = new Map([
  ["{", "}"],
  ["[", "]"],
  ["(", ")"],
]);
const quotes = new Map([
  ['"', '"'],
  ["'", "'"],
  ["“", "”"],
]);
const constants = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);
const escapes = new Map(Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }));

/**
 * Reads the JSON value at `from`, forgiving only what loses nothing: trailing commas, comments, single and curly quotes
 * around strings, bare keys and bare words, Python's constants, raw line breaks and unknown escapes in strings, and with
 * `mayEndEarly` brackets that were never closed (strings must be). Python's keyword arguments, from their bracket on, are an object.
 * Undefined where a reading would be a guess.
 */
export function parseLooseJson(text: string, from = 0, mayEndEarly = false): LooseJson | undefined {
  const strict: string[] = []; // the same value in strict JSON, a token an entry; its grammar is for `JSON.parse`
  const open: string[] = [];
  const token = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/|#[^\n]*)*([{}[\]():=,"'“]|[^\s,:={}()[\]"'`<>]+)?/y;
  token.lastIndex = from;
  do {
    const found = token.exec(text)?.[1];
    const at = token.lastIndex;
    if (found === undefined) {
      if (!mayEndEarly || open.length === 0 || at < text.length) return undefined;
      while (open.length > 0) close(strict, open.pop() ?? "");
    } else if (brackets.has(found)) {
      if (found === "(" && strict.length > 0) return undefined;
      strict.push(found === "(" ? "{" : found);
      open.push(brackets.get(found) ?? "");
      if (open.length > maxDepth) return undefined;
    } else if (found === "}" || found === "]" || found === ")") {
      if (open.pop() !== found) return undefined;
      close(strict, found);
    } else if (quotes.has(found)) {
      token.lastIndex = stringEnd(text, at, quotes.get(found));
      if (token.lastIndex === -1) return undefined;
      strict.push(JSON.stringify(unescaped(text.slice(at, token.lastIndex - 1))));
    } else {
      const isKey = /[})]/.test(open.at(-1) ?? "") && /^\s*[:=]/.test(text.slice(at, at + 20));
      const colon = open.at(-1) === ")" ? "=" : ":";
      const written = found === colon ? ":" : found === "," ? found : strictWord(found, isKey);
      if (written === undefined) return undefined;
      strict.push(written);
    }
  } while (open.length > 0);
  const value = parsedJson(strict.join(""));
  return value === undefined ? undefined : { value, end: token.lastIndex };
}

/** Writes a closing bracket, instead of a comma after the last item. */
function close(strict: string[], bracket: string): void {
  if (strict.at(-1) === "," && !/[{[]/.test(strict.at(-2) ?? "")) strict.pop();
  strict.push(bracket === ")" ? "}" : bracket);
}

function strictWord(word: string, isKey: boolean): string | undefined {
  if (isKey) return /^[A-Za-z_$][\w$-]*$/.test(word) ? JSON.stringify(word) : undefined;
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(word)) return word;
  const isBare = /^[A-Za-z_][\w./-]*$/.test(word) && !/^(?:NaN|Infinity|undefined)$/.test(word);
  return constants.get(word) ?? (isBare ? JSON.stringify(word) : undefined);
}

function unescaped(body: string): string {
  return body.replace(/\\(?:u([\da-f]{4})|([^]))/gi, (whole, code: string | undefined, char: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return escapes.get(char) ?? (/["\\/'\n]/.test(char) ? char : whole);
  });
}

/** The place after the quotation mark that ends the string whose text begins at `from`, or -1. */
function stringEnd(text: string, from: number, quote = '"'): number {
  for (let i = from; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === quote) return i + 1;
    if (char === "\\") i++;
  }
  return -1;
}

/** The place after the bracket that closes the one at `from`, or -1. Knows double-quoted strings and their escapes only. */
export function closingBracket(text: string, from: number): number {
  let depth = 0;
  const special = /["{}[\]]/g;
  special.lastIndex = from;
  for (let match = special.exec(text); match !== null; match = special.exec(text)) {
    if (match[0] === '"') {
      const end = stringEnd(text, special.lastIndex);
      if (end === -1) return -1;
      special.lastIndex = end;
    } else {
      depth += match[0] === "{" || match[0] === "[" ? 1 : -1;
      if (depth === 0) return special.lastIndex;
    }
  }
  return -1;
}
