import { writeJson } from "../../../base/json.ts";
import { parsedJson } from "../arguments/json.ts";

const maxDepth = 200;
const closers = new Map(Object.entries({ "{": "}", "[": "]", "(": ")" }));
const python = { True: "true", False: "false", None: "null" };
const constants = new Map(Object.entries({ true: "true", false: "false", null: "null", ...python }));
const escapes = new Map(Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }));

const space = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/|#[^\n]*)*/.source;
const strings = /"[^"\\]*(?:\\[^][^"\\]*)*"|'[^'\\]*(?:\\[^][^'\\]*)*'|“[^”\\]*(?:\\[^][^”\\]*)*”/.source;
const word = /[^\s,:={}()[\]"'“`<>]+/.source;
const token = new RegExp(`${space}(${strings}|[{}[\\]():=,]|${word})?`, "y");

/**
 * Reads the JSON value at `from`, forgiving only what loses nothing: trailing commas, comments, single and curly quotes
 * around strings, bare keys and bare words, Python's constants, raw line breaks and unknown escapes in strings, and with
 * `mayEndEarly` brackets that were never closed (strings must be). Python's keyword arguments, from their bracket on, are an object.
 * Undefined where a reading would be a guess.
 */
export function parseLooseJson(
  text: string,
  from = 0,
  mayEndEarly = false,
):
  | {
      readonly value: unknown;
      /** Where the value ends in the text. */
      readonly end: number;
    }
  | undefined {
  const strict: string[] = []; // the same value in strict JSON, a token an entry; its grammar is for `JSON.parse`
  const open: string[] = [];
  token.lastIndex = from;
  do {
    const found = token.exec(text)?.[1];
    const at = token.lastIndex;
    const closer = closers.get(found ?? "");
    if (found === undefined) {
      if (!mayEndEarly || open.length === 0 || at < text.length) return undefined;
      while (open.length > 0) close(strict, open.pop());
    } else if (closer !== undefined) {
      if ((found === "(" && strict.length > 0) || open.length === maxDepth) return undefined;
      strict.push(found === "(" ? "{" : found);
      open.push(closer);
    } else if (/^[}\])]/.test(found)) {
      if (open.pop() !== found) return undefined;
      close(strict, found);
    } else if (/^["'“]/.test(found)) {
      strict.push(writeJson(unescaped(found.slice(1, -1))));
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
function close(strict: string[], bracket: string | undefined): void {
  if (strict.at(-1) === "," && !/[{[]/.test(strict.at(-2) ?? "")) strict.pop();
  strict.push(bracket === "]" ? "]" : "}");
}

function strictWord(word: string, isKey: boolean): string | undefined {
  if (isKey) return /^[A-Za-z_$][\w$-]*$/.test(word) ? writeJson(word) : undefined;
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(word)) return word;
  const isBare = /^[A-Za-z_][\w./-]*$/.test(word) && !/^(?:NaN|Infinity|undefined)$/.test(word);
  return constants.get(word) ?? (isBare ? writeJson(word) : undefined);
}

function unescaped(body: string): string {
  return body.replace(/\\(?:u([\da-f]{4})|([^]))/gi, (whole, code: string | undefined, char: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return escapes.get(char) ?? (/["\\/'\n]/.test(char) ? char : whole);
  });
}

/** The place after the bracket that closes the one at `from`, or -1. Knows double-quoted strings and their escapes only. */
export function closingBracket(text: string, from: number): number {
  const part = /"[^"\\]*(?:\\[^][^"\\]*)*"?|[{}[\]]/g;
  part.lastIndex = from;
  let depth = 0;
  for (const { 0: found, index } of text.matchAll(part)) {
    if (/[{[]/.test(found.charAt(0))) depth++;
    else if (/[}\]]/.test(found.charAt(0))) depth--;
    if (depth === 0) return index + 1;
  }
  return -1;
}
