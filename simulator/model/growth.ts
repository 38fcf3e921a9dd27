import type { Clock } from "../../src/base/clock.ts";

/** Something that happens when an answer has reached a length. */
export interface GrowthMark {
  readonly at: number;
  readonly act: () => void | Promise<void>;
}

/**
 * Lets text appear piece by piece at a set rate, and performs each mark exactly at its length, counted over everything
 * that was grown. Marks past the end are performed by `finish`.
 */
export class Growth {
  readonly #marks: GrowthMark[];
  readonly #clock: Clock;
  readonly #charsPerSecond: number;
  readonly #chunk: number;
  #length = 0;

  constructor(options: {
    readonly marks: readonly GrowthMark[];
    readonly clock: Clock;
    /** Characters a second; Infinity for everything at once. */
    readonly charsPerSecond: number;
    readonly chunk: number;
  }) {
    this.#marks = [...options.marks].sort((a, b) => a.at - b.at);
    this.#clock = options.clock;
    this.#charsPerSecond = options.charsPerSecond;
    this.#chunk = options.chunk;
  }

  /** Hands `text` to `append` in pieces. */
  async grow(text: string, append: (piece: string) => void, signal: AbortSignal): Promise<void> {
    let rest = text;
    while (rest !== "") {
      signal.throwIfAborted();
      await this.#reach(this.#length);
      const toMark = (this.#marks[0]?.at ?? Infinity) - this.#length;
      const instant = this.#charsPerSecond === Infinity;
      const size = wholeCharacters(rest, Math.min(instant ? Infinity : this.#chunk, toMark, rest.length));
      append(rest.slice(0, size));
      this.#length += size;
      rest = rest.slice(size);
      if (!instant) await this.#clock.sleep((size / this.#charsPerSecond) * 1000, signal);
    }
    await this.#reach(this.#length);
  }

  /** Performs the remaining marks, if the answer was shorter than they are. */
  async finish(): Promise<void> {
    await this.#reach(Infinity);
  }

  async #reach(length: number): Promise<void> {
    while (this.#marks[0] !== undefined && this.#marks[0].at <= length) await this.#marks.shift()?.act();
  }
}

/** A size near `wanted`, at least one character, that splits no surrogate pair. */
function wholeCharacters(text: string, wanted: number): number {
  const size = Math.max(1, wanted);
  const last = text.charCodeAt(size - 1);
  return last >= 0xd800 && last <= 0xdbff && size < text.length ? size + 1 : size;
}
