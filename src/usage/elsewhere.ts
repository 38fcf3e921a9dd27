import type { SpendQuery } from "./history/history.ts";
import { localDays } from "./history/local-days.ts";

/** One model call in Devin's own records, or several of one quarter of an hour, with the tokens that it counted. */
export interface DevinCall {
  readonly atMs: number;
  /** One where absent. */
  readonly calls?: number;
  /** The model UID; undefined where it is not noted. */
  readonly model: string | undefined;
  /** The folder of the session; undefined where it is not noted. */
  readonly project: string | undefined;
  /** With some models without the cached ones. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheCreationTokens: number;
  readonly outputTokens: number;
}

/** Sums of calls that did not go through Millrace. */
export interface ElsewhereSpend extends Omit<DevinCall, "atMs" | "calls" | "model" | "project"> {
  /** The model UID, the project or the day; undefined if it is not known. */
  readonly key: string | undefined;
  readonly calls: number;
}

/** What Devin used without Millrace; `problem`: why it could not be read. */
export type Elsewhere = { readonly rows: readonly ElsewhereSpend[] } | { readonly problem: string };

/** Calls in that time, by model, project or day: the largest first, days in order. */
export function summed(
  calls: readonly DevinCall[],
  { sinceMs, untilMs, by, timeZone }: SpendQuery,
): readonly ElsewhereSpend[] {
  const dayOf = localDays(timeZone);
  const sums = new Map<string | undefined, ElsewhereSpend>();
  for (const call of calls) {
    if (call.atMs < sinceMs || call.atMs >= untilMs) continue;
    const key = by === "model" ? call.model : by === "project" ? call.project : dayOf(call.atMs);
    const sum = sums.get(key);
    sums.set(key, {
      key,
      calls: (sum?.calls ?? 0) + (call.calls ?? 1),
      inputTokens: (sum?.inputTokens ?? 0) + call.inputTokens,
      cacheReadTokens: (sum?.cacheReadTokens ?? 0) + call.cacheReadTokens,
      cacheCreationTokens: (sum?.cacheCreationTokens ?? 0) + call.cacheCreationTokens,
      outputTokens: (sum?.outputTokens ?? 0) + call.outputTokens,
    });
  }
  const rows = [...sums.values()];
  return by === "day"
    ? rows.sort((a, b) => (a.key ?? "").localeCompare(b.key ?? ""))
    : rows.sort((a, b) => all(b) - all(a));
}

function all({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }: ElsewhereSpend): number {
  return inputTokens + cacheReadTokens + cacheCreationTokens + outputTokens;
}
