import { isObject, type JsonObject, parseJson } from "../../../base/json.ts";

/** Splits text that arrives in pieces into lines. A line of more than `longest` characters throws a `RangeError`. */
export class TextLines {
  readonly #longest: number;
  #parts: string[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Whether the text ends in the middle of a line. */
  get hasHalf(): boolean {
    return this.#parts.length > 0;
  }

  /** The lines that are complete with this text, without their ends. */
  feed(text: string): readonly string[] {
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    const first = lines[0];
    if (first !== undefined && this.#parts.length > 0) {
      lines[0] = this.#parts.join("") + first;
      this.#parts = [];
      this.#length = 0;
    }
    if (rest !== "") {
      this.#parts.push(rest);
      this.#length += rest.length;
      if (this.#length > this.#longest) throw new RangeError("a line is too long");
    }
    return lines;
  }
}

/** A line is parsed at once: 16 million characters of text take some 80 ms. */
export const longestLine = 16 * 1024 * 1024;

/**
 * Splits a pipe's text into JSON objects, one a line. A line that is no JSON object is skipped: agents print warnings and banners between
 * their messages. A line of more than 16 million characters throws.
 */
export class JsonLines {
  readonly #lines = new TextLines(longestLine);

  /** Whether the text ends in the middle of a line. */
  get hasHalf(): boolean {
    return this.#lines.hasHalf;
  }

  /** The objects that are complete with this text, in order. */
  feed(text: string): readonly JsonObject[] {
    return this.#lines.feed(text).flatMap((line) => {
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
