/** By how much a figure may rise over a run, as a share of its begin or in its own unit: the larger one counts. */
export interface Room {
  readonly share: number;
  readonly absolute: number;
}

/**
 * Whether a figure stayed flat: the median of the last third of its windows is not above that of the first third by more than
 * the room. Noise of one window moves no median, and a leak moves every one of the last third.
 */
export function grown(values: readonly number[], { share, absolute }: Room): string | undefined {
  const third = Math.max(1, Math.floor(values.length / 3));
  const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))];
  const most = first + Math.max(first * share, absolute);
  return last <= most
    ? undefined
    : `grew from ${first.toFixed(1)} to ${last.toFixed(1)}; ${most.toFixed(1)} is allowed`;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2;
}
