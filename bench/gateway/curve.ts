/** How one answer arrived: the text's length so far, each time it grew. Times in ms since the question was asked. */
export interface Curve {
  readonly points: readonly { readonly atMs: number; readonly characters: number }[];
  /** When the reader knew that the answer was complete. */
  readonly endMs: number;
}

export function firstMs({ points }: Curve): number {
  return points[0]?.atMs ?? Number.NaN;
}

/** When the average character arrived: what every delay of every delta adds up to. */
export function meanMs({ points }: Curve): number {
  let sum = 0;
  let before = 0;
  for (const { atMs, characters } of points) {
    sum += atMs * (characters - before);
    before = characters;
  }
  return sum / before;
}

/** From the last character to the end of the answer. */
export function tailMs({ points, endMs }: Curve): number {
  return endMs - (points.at(-1)?.atMs ?? Number.NaN);
}

export function lengthOf({ points }: Curve): number {
  return points.at(-1)?.characters ?? 0;
}

/** The value that `fraction` (0 to 1) of the values do not exceed. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}
