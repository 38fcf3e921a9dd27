import { isObject, type JsonObject } from "../../../base/json.ts";
import { TextLines } from "./text-lines.ts";

/** A line is parsed at once: 16 million characters of text take some 80 ms. */
export const longestLine = 16 * 1024 * 1024;

/**
 * Splits a pipe's text into JSON objects, one a line. A line that is no JSON object is handed to `onNoise` and skipped:
 * agents print warnings and banners between their messages. A line of more than 16 million characters throws.
 */
export class JsonLines {
  readonly #onNoise: (line: string) => void;
  readonly #lines = new TextLines(longestLine);

  constructor(onNoise: (line: string) => void) {
    this.#onNoise = onNoise;
  }

  /** Whether the text ends in the middle of a line. */
  get hasHalf(): boolean {
    return this.#lines.hasHalf;
  }

  /** The objects that are complete with this text, in order. */
  feed(text: string): readonly JsonObject[] {
    return this.#lines.feed(text).flatMap((line) => this.#parse(line));
  }

  #parse(line: string): readonly JsonObject[] {
    if (line.trim() === "") return [];
    try {
      const value: unknown = JSON.parse(line);
      if (isObject(value)) return [value];
    } catch {
      // noise, as below
    }
    this.#onNoise(line);
    return [];
  }
}
