import { patientDeadline } from "../../base/node/patient-deadline.ts";

/** Gives `work` its own time: `late` when that is up, and only the outer signal's reason is thrown. */
export async function withOwnTime<T>(
  outer: AbortSignal,
  ms: number,
  late: T,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = patientDeadline(outer, ms);
  try {
    return await work(signal);
  } catch (error) {
    if (signal.aborted && !outer.aborted) return late;
    throw error;
  }
}

/** Does `work` for each item, `width` at a time; results in the items' order. The first rejection ends it. */
export async function mapBounded<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as T); // index is below length
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
