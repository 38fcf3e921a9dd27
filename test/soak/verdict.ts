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

/** How much of what a window brings may stay: noise is less, and what is never deleted is all of it. */
const mayStay = 0.35;

/**
 * Whether a log grows although its retention deletes: how much it gained from window to window, as the slope of a straight line
 * through all of them, against what one window writes. Rates differ from window to window, and a sweep comes once a minute: the line
 * evens that out.
 */
export function accumulates(values: readonly number[], writtenPerWindow: number): string | undefined {
  const gained = slopeOf(values);
  return gained <= writtenPerWindow * mayStay
    ? undefined
    : `grows by ${gained.toFixed(2)} a window, and a window writes ${writtenPerWindow.toFixed(2)}`;
}

/** So many of the windows that at least `apart` lies between two of them; `places` says where each is. */
export function spread<T>(rows: readonly T[], places: readonly number[], apart: number): readonly T[] {
  let next = Number.NEGATIVE_INFINITY;
  return rows.filter((_, i) => {
    const place = places[i] ?? Number.NaN;
    if (!(place >= next)) return false;
    next = place + apart;
    return true;
  });
}

function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  let [over, under] = [0, 0];
  for (const [at, value] of values.entries()) {
    over += (at - middle) * value;
    under += (at - middle) ** 2;
  }
  return over / under;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2;
}
