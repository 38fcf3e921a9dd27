import type { SpendQuery } from "./history/history.ts";
import { localDays } from "./history/local-days.ts";

/** What is counted of model calls, as Devin's records and the report name it. With some models `input_tokens` are without the cached ones. */
const callCounts = ["calls", "input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"] as const;
type CallCounts = Readonly<Record<(typeof callCounts)[number], number>>;

/** One model call in Devin's own records, or several of one quarter of an hour, with the tokens that it counted. */
export interface DevinCall extends CallCounts {
  readonly atMs: number;
  /** The model UID; undefined where it is not noted. */
  readonly model: string | undefined;
  /** The folder of the session; undefined where it is not noted. */
  readonly project: string | undefined;
}

/** Sums of calls that did not go through Millrace; the key is the model UID, the project or the day, null if it is not known. */
type ElsewhereSpend = CallCounts & { readonly key: string | null };

/** What Devin used without Millrace; `problem`: why it could not be read. */
export type Elsewhere = { readonly rows: readonly ElsewhereSpend[] } | { readonly problem: string };

/** Calls in that time, by model, project or day: the largest first, days in order. */
export function summed(
  calls: readonly DevinCall[],
  { sinceMs, untilMs, by, timeZone }: SpendQuery,
): readonly ElsewhereSpend[] {
  const dayOf = localDays(timeZone);
  const sums = new Map<string | undefined, CallCounts>();
  for (const call of calls) {
    if (call.atMs < sinceMs || call.atMs >= untilMs) continue;
    const key = by === "model" ? call.model : by === "project" ? call.project : dayOf(call.atMs);
    sums.set(key, plus(sums.get(key), call));
  }
  const rows = [...sums].map(([key = null, counts]) => ({ key, ...counts }));
  return by === "day"
    ? rows.sort((a, b) => (a.key ?? "").localeCompare(b.key ?? ""))
    : rows.sort((a, b) => tokensOf(b) - tokensOf(a));
}

/** The sum of both. */
export function plus(sum: CallCounts | undefined, more: CallCounts): CallCounts {
  return Object.fromEntries(callCounts.map((count) => [count, (sum?.[count] ?? 0) + more[count]])) as CallCounts; // each has its sum
}

function tokensOf(counts: CallCounts): number {
  return callCounts.reduce((sum, count) => sum + (count === "calls" ? 0 : counts[count]), 0);
}
