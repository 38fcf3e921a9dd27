/** How an answer ended: on its own, or cut off at its length limit. */
export type EndCause = "stop" | "length";

/** Thrown where the next characters of an answer decide how it is read; if `until` is set, only a text that it matches does. */
export class TextShortage extends Error {
  readonly until: RegExp | undefined;

  constructor(until?: RegExp) {
    super();
    this.until = until;
  }
}

/** A part of an answer that begins where something is read, as far as it came. `cause` is set if it is the end of the answer. */
export class Source {
  readonly text: string;
  readonly cause: EndCause | undefined;

  constructor(text: string, cause: EndCause | undefined) {
    this.text = text;
    this.cause = cause;
  }

  from(at: number): Source {
    return new Source(this.text.slice(at), this.cause);
  }

  /** @throws TextShortage unless the answer is over: then a reader decides by what it has. */
  wait(until?: RegExp): void {
    if (this.cause === undefined) throw new TextShortage(until);
  }
}

/** What a sticky or global pattern finds from a place on. */
export function matchFrom(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The place after what a sticky pattern takes at a place. */
export function endOf(pattern: RegExp, text: string, at: number): number {
  return at + (matchFrom(pattern, text, at)?.[0].length ?? 0);
}

/** The place after the white space at `at`. */
export function spaceEnd(text: string, at: number): number {
  return endOf(/\s*/y, text, at);
}

/** The place after the surplus brackets, separators and white space at `at`. */
export function strayEnd(text: string, at: number): number {
  return endOf(/[\s}\])`,;]*/y, text, at);
}
