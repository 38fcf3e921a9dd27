/** The value that `fraction` (0 to 1) of the values do not exceed. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The median of repeats, and how far they are apart. */
export function spread(values: readonly number[]): {
  readonly median: number;
  readonly min: number;
  readonly max: number;
} {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}
