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
