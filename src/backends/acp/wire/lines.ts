import { isObject, type JsonObject, parseJson } from "../../../base/json.ts";

/** Gets the first and the last thousand characters of a line that is left out: some of them may be both. */
export type LeftOut = (start: string, end: string) => void;
const shown = 1_000;

/**
 * Splits text that arrives in pieces into lines. A line of more than `longest` characters throws a `RangeError`; where `leftOut` is given, it is
 * left out.
 */
export class TextLines {
  readonly #longest: number;
  readonly #leftOut: LeftOut | undefined;
  #parts: string[] = [];
  #length = 0;
  /** The start of a line that is left out, while its end is to come. */
  #start: string | undefined;

  constructor(longest: number, leftOut?: LeftOut) {
    this.#longest = longest;
    this.#leftOut = leftOut;
  }

  /** Whether the text ends in the middle of a line. */
  get isMidLine(): boolean {
    return this.#parts.length > 0;
  }

  /** The lines that are complete with this text, without their ends. */
  feed(text: string): readonly string[] {
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    const first = lines[0];
    if (first !== undefined && this.#parts.length > 0) {
      const line = this.#parts.join("") + first;
      if (this.#start === undefined) lines[0] = line;
      else {
        lines.shift();
        this.#leftOut?.(this.#start, line.slice(-shown));
      }
      this.#parts = [];
      this.#length = 0;
      this.#start = undefined;
    }
    if (rest !== "") {
      this.#parts.push(rest);
      this.#length += rest.length;
      if (this.#length > this.#longest) this.#leaveOut();
    }
    return lines;
  }

  #leaveOut(): void {
    if (this.#leftOut === undefined) throw new RangeError("a line is too long");
    const line = this.#parts.join("");
    this.#start ??= line.slice(0, shown);
    this.#parts = [line.slice(-shown)];
    this.#length = shown;
  }
}

/** A line is parsed at once: 16 million characters of text take some 80 ms. */
export const longestLine = 16 * 1024 * 1024;

/** The most that the calls of a session which wait, and each result, have as JSON, so that each fits in one line. */
export const longestContent = longestLine - 64 * 1024;

/** No message of ACP or MCP has so many levels. `JSON.parse` needs 2 s for a million of them. */
const deepest = 1_000;

/** Whether a text has more than `deepest` brackets open at once, outside of its strings. */
function isTooDeep(text: string): boolean {
  if (text.length <= deepest) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth > deepest) return true;
  }
  return false;
}

/** The place of the quote that ends the string which begins at `start`; the text's end where none does. */
function endOfString(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const end = text.indexOf('"', from);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
    from = end + 1;
  }
}

/**
 * Splits a pipe's text into JSON objects, one a line. A line that is no JSON object is skipped: agents print warnings and banners between
 * their messages. A line of more than 16 million characters or of more than 1,000 levels throws a `RangeError`; where `leftOut` is given,
 * it is left out.
 */
export class JsonLines {
  readonly #lines: TextLines;
  readonly #leftOut: LeftOut | undefined;

  constructor(leftOut?: LeftOut) {
    this.#leftOut = leftOut;
    this.#lines = new TextLines(longestLine, leftOut);
  }

  /** Whether the text ends in the middle of a line. */
  get isMidLine(): boolean {
    return this.#lines.isMidLine;
  }

  /** The objects that are complete with this text, in order. */
  feed(text: string): readonly JsonObject[] {
    return this.#lines.feed(text).flatMap((line) => {
      if (isTooDeep(line)) {
        if (this.#leftOut === undefined) throw new RangeError("a line has too many levels");
        this.#leftOut(line.slice(0, shown), line.slice(-shown));
        return [];
      }
      try {
        const value: unknown = parseJson(line);
        return isObject(value) ? [value] : [];
      } catch {
        return [];
      }
    });
  }
}

/**
 * Whether a message without a method is the reply to a request. Agents write log lines in JSON between their messages, and those may have
 * an `id` too. A void result may be missing.
 */
export function isReply(message: JsonObject): boolean {
  return message["jsonrpc"] === "2.0" || Object.hasOwn(message, "result") || isObject(message["error"]);
}
