import { isObject, type JsonObject } from "../../../base/json.ts";

const longestLine = 64 * 1024 * 1024;

/**
 * Splits a pipe's text into JSON objects, one a line. A line that is no JSON object is handed to `onNoise` and skipped:
 * agents print warnings and banners between their messages. A line of more than 64 million characters throws.
 */
export class JsonLines {
  readonly #onNoise: (line: string) => void;
  #parts: string[] = [];
  #length = 0;

  constructor(onNoise: (line: string) => void) {
    this.#onNoise = onNoise;
  }

  /** The objects that are complete with this text, in order. */
  feed(text: string): readonly JsonObject[] {
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
      if (this.#length > longestLine) throw new RangeError("a line on the agent's standard output is too long");
    }
    return lines.flatMap((line) => this.#parse(line));
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
