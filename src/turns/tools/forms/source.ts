/** How an answer ended: on its own, or cut off at its length limit. */
export type EndCause = "stop" | "length";

/** Thrown where the next characters of an answer decide what this one is. */
export class TextShortage extends Error {}

/** The text to read calls from, as far as it came. `cause` is set if it is the end of the answer. */
export class Source {
  readonly text: string;
  readonly cause: EndCause | undefined;

  constructor(text: string, cause: EndCause | undefined) {
    this.text = text;
    this.cause = cause;
  }

  /** @throws TextShortage unless the answer is over: then a reader decides by what it has. */
  wait(): void {
    if (this.cause === undefined) throw new TextShortage();
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
