import type { DaysQuery, SpendQuery, UsageReads } from "./history/history.ts";
import type { TurnPageFilter, TurnPageQuery } from "./history/turn-page-query.ts";
import { encodeLimitsHistory } from "./limits-history.ts";
import type { TurnBars, TurnPage } from "./turn-page-envelope.ts";
import { type UsageDays, usageReport } from "./usage-report.ts";

/** The reports that may read many rows of the history. What they take and answer is plain data, so that a thread can make them. */
export const reports = {
  usage: (history: UsageReads, query: SpendQuery) => usageReport(history, query),
  usageDays: (history: UsageReads, query: DaysQuery): UsageDays => ({
    query,
    days: history.spendByDay(query),
    names: history.modelNames(query.untilMs),
  }),
  /** How much of each limit was used, from (inclusive) to (exclusive), epoch ms. */
  limitsHistory: (history: UsageReads, sinceMs: number, untilMs: number) =>
    encodeLimitsHistory(history.snapshots({ sinceMs, untilMs }), sinceMs),
  /** A page of ended turns, the totals of all of them with what they can be filtered by, and their models' names. */
  turnPage: (history: UsageReads, query: TurnPageQuery): TurnPage => ({
    query,
    rows: query.limit === 0 ? [] : history.turnPage(query),
    ...(query.sums ? { totals: history.turnTotals(query), groups: history.turnGroups() } : {}),
    names: history.modelNames(query.untilMs),
  }),
  /** The turns that a filter takes in parts of `widthMs` each, as bars of a chart. */
  turnBars: (history: UsageReads, filter: TurnPageFilter, widthMs: number): TurnBars => ({
    filter,
    widthMs,
    bars: history.turnBars(filter, widthMs),
    names: history.modelNames(filter.untilMs),
  }),
};

export type ReportName = keyof typeof reports;
type Report<Name extends ReportName> = (typeof reports)[Name];
type Asked<Name extends ReportName> = Parameters<Report<Name>> extends [UsageReads, ...infer Rest] ? Rest : never;

/** Makes a report. Rejects with `invalid_request` for a time zone that does not exist, `degraded` for a broken store. */
export type AskReport = <Name extends ReportName>(
  name: Name,
  ...asked: Asked<Name>
) => Promise<ReturnType<Report<Name>>>;

/** Makes reports here, for a history that is small or nobody waits for. */
export function reportsOf(history: UsageReads): AskReport {
  return async (name, ...asked) => makeReport(history, name, asked);
}

/** One report; the arguments are those of its name. */
export function makeReport<Name extends ReportName>(history: UsageReads, name: Name, asked: readonly unknown[]) {
  const make = reports[name] as (history: UsageReads, ...asked: readonly unknown[]) => ReturnType<Report<Name>>; // as `AskReport` pairs them
  return make(history, ...asked);
}
