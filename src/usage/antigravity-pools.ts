/** Models that share one limit. `3p` is the vendor's own word for the pool of the others, and its ids are kept. */
export interface Pool {
  readonly id: string;
  readonly label: string;
}

const gemini: Pool = { id: "gemini", label: "Gemini" };
const others: Pool = { id: "3p", label: "Other models" };
export const pools: readonly Pool[] = [gemini, others];

/** The window that an id ends in. */
export interface WindowLength {
  readonly id: string;
  readonly label: string;
  readonly seconds: number | undefined;
}

const fiveHours: WindowLength = { id: "5h", label: "5 hours", seconds: 5 * 3600 };
const daily: WindowLength = { id: "daily", label: "daily", seconds: 86_400 };
const weekly: WindowLength = { id: "weekly", label: "weekly", seconds: 7 * 86_400 };

/** How far past 5 hours a reset may lie and still be one of a 5-hour window: clocks differ. */
const toleranceMs = 10 * 60_000;

/** The pool a model draws from, by its label: Gemini models share one, all others the other. */
export function poolOfModel(label: string): Pool {
  return /gemini/i.test(label) ? gemini : others;
}

/**
 * The window of a single model's fraction, which the answer does not name: 5 hours, unless the reset is further away. Without a reset
 * time nothing has been used, and the 5-hour window starts next.
 */
export function windowOfReset(resetsAtMs: number | undefined, readAtMs: number): WindowLength {
  if (resetsAtMs === undefined || resetsAtMs - readAtMs <= 5 * 3_600_000 + toleranceMs) return fiveHours;
  return weekly;
}

/**
 * Id, label and length of a bucket of the quota summary. The length comes from `window` if there is one, else from the words of the id
 * and name; otherwise it is unknown.
 */
export function windowOfBucket(
  group: string,
  bucket: { readonly id: string; readonly label: string; readonly window: string },
): { readonly id: string; readonly label: string; readonly windowSeconds: number | undefined } {
  const length = lengthIn(bucket.window) ?? lengthIn(bucket.id) ?? lengthIn(bucket.label);
  const pool = poolOfModel(`${bucket.id} ${group}`);
  const suffix = length?.id ?? wordsOf(bucket.window || bucket.label || "unnamed");
  return {
    id: bucket.id ? wordsOf(bucket.id) : `${pool.id}-${suffix}`,
    label: `${group || pool.label}, ${length?.label ?? (bucket.label || suffix)}`,
    windowSeconds: length?.seconds,
  };
}

function lengthIn(text: string): WindowLength | undefined {
  if (/week|\b7d\b/i.test(text)) return weekly;
  if (/5\s*-?h|five.?hour|session/i.test(text)) return fiveHours;
  if (/dail|\bday\b|24h/i.test(text)) return daily;
  return undefined;
}

function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}
