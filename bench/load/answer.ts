/** How an answer of the load server grows. All times in ms. */
export interface Growth {
  readonly characters: number;
  readonly charactersPerSecond: number;
  /** From the accepted prompt to the first character. */
  readonly firstMs: number;
  /** Steps of the trajectory before the answer that say nothing. */
  readonly quietSteps?: number;
}

/** Epoch ms with fractions, the same in every process of this machine. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

const stampLength = 24;

/** The whole text of an answer. It begins with the moment of its first character, so that any reader can tell the lag of each. */
export function answerText(firstAtMs: number, { characters }: Growth): string {
  const stamp = `@${firstAtMs.toFixed(3)}`.padEnd(stampLength, " ");
  return stamp + "text that flows on and on, ".repeat(Math.ceil(characters / 27)).slice(0, characters - stampLength);
}

/** How many characters there are at a moment. The stamp is there at once with the first character. */
export function lengthAt(atMs: number, firstAtMs: number, growth: Growth): number {
  if (atMs < firstAtMs) return 0;
  const grown = stampLength + Math.floor(((atMs - firstAtMs) * growth.charactersPerSecond) / 1000);
  return Math.min(growth.characters, grown);
}

/** When the checkpoint that ends the answer can be read. */
export function endsAtMs(firstAtMs: number, { characters, charactersPerSecond }: Growth): number {
  return firstAtMs + ((characters - stampLength) * 1000) / charactersPerSecond;
}

/** What a reader saw of one answer. */
export interface Observation {
  readonly askedAtMs: number;
  /** Each time the text grew: how long it was then. */
  readonly points: readonly { readonly atMs: number; readonly length: number }[];
  readonly endAtMs: number;
}

/** Lags of one answer in ms: of its first character, of each further one as a mean of the delta it came with, of its end. */
export interface Lags {
  readonly setupMs: number;
  readonly firstMs: number;
  readonly deltaMs: readonly number[];
  readonly endMs: number;
}

/** Throws when the text is not whole. `stamp` is the beginning of the text that was read. */
export function lagsOf(seen: Observation, stamp: string, growth: Growth): Lags {
  const firstAtMs = Number(/^@(\d+\.\d+)/.exec(stamp)?.[1]);
  const last = seen.points.at(-1)?.length ?? 0;
  if (Number.isNaN(firstAtMs) || last !== growth.characters) throw new Error(`an answer of ${last} characters`);
  const perMs = growth.charactersPerSecond / 1000;
  const deltaMs: number[] = [];
  let before = stampLength;
  for (const { atMs, length } of seen.points) {
    if (length <= before) continue;
    // the middle of the delta stands for all of its characters
    const middle = (before + length) / 2 - stampLength;
    deltaMs.push(atMs - (firstAtMs + middle / perMs));
    before = length;
  }
  return {
    setupMs: firstAtMs - growth.firstMs - seen.askedAtMs,
    firstMs: (seen.points[0]?.atMs ?? Number.NaN) - firstAtMs,
    deltaMs,
    endMs: seen.endAtMs - endsAtMs(firstAtMs, growth),
  };
}
