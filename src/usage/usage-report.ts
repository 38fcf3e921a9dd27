import { ideVariants } from "../language-server/transport/endpoint.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { DaySpend, DaysQuery, Spend, SpendQuery, UsageReads } from "./history/history.ts";
import { type OutsideUse, outsideUse, payingWindow } from "./history/outside.ts";

/** Spending in a time, and what of the plan's use it does not explain. */
export interface UsageReport {
  readonly query: SpendQuery;
  readonly rows: readonly Spend[];
  readonly outside: readonly OutsideUse[];
  /** What Devin's own records hold beside it. */
  readonly elsewhere?: Elsewhere | undefined;
  /** The names that models had when these turns used them, by UID. */
  readonly names: ReadonlyMap<string, string>;
}

/** Spending by day and model, and the names that models had, by UID. */
export interface UsageDays {
  readonly query: DaysQuery;
  readonly days: readonly DaySpend[];
  readonly names: ReadonlyMap<string, string>;
}

/** The use of turns, and the use outside of them, from the history alone. Throws what the history throws. */
export function usageReport(history: UsageReads, query: SpendQuery): UsageReport {
  const rows = history.spend(query);
  const outside = ideVariants.flatMap((ide) => {
    const readings = history.snapshots({ ide, sinceMs: query.sinceMs, untilMs: query.untilMs });
    const last = readings.at(-1);
    const window = last === undefined ? undefined : payingWindow(last);
    if (window === undefined) return [];
    return outsideUse(readings, window.id, (fromMs, toMs) => history.explained(ide, fromMs, toMs)) ?? [];
  });
  return { query, rows, outside, names: history.modelNames(query.untilMs) };
}
