import { quantile } from "./quantile.ts";

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The median of repeats, and how far they are apart. */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}
