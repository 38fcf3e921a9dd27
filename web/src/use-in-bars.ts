import type { UsageDaysEnvelope } from "../../src/usage/usage-days-envelope.ts";
import { midnight, type PageQuery, type Times, timesOf } from "./address.ts";
import { api } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { type DataState, useData } from "./use-data.ts";
import { instantInWords } from "./words.ts";

/** A day or an hour: what each model used in it. `day` is `2026-11-22`, or the instant with which an hour begins. */
export type Bar = UsageDaysEnvelope["data"][number];

/** What was used in a time, day by day or hour by hour, beside the same length before it. */
export interface UseInBars {
  readonly bars: readonly Bar[];
  readonly before: readonly Bar[];
}

const hourMs = 3_600_000;
const longestInHoursMs = 48 * hourMs;

export function useBars(asked: PageQuery): DataState<UseInBars> {
  const times = timesOf(asked);
  const state = useData(`bars ${JSON.stringify(times)}`, (signal) => readBars(times, signal), 60_000);
  useTurnEnd(state.reload);
  return state;
}

async function readBars(times: Times, signal: AbortSignal): Promise<UseInBars> {
  const from = Date.parse(times.since);
  const span = (times.until === undefined ? Date.now() : Date.parse(times.until)) - from;
  return span > longestInHoursMs ? readDays(times, span, signal) : readHours(times, span, signal);
}

async function readDays({ since, ...end }: Times, spanMs: number, signal: AbortSignal): Promise<UseInBars> {
  const first = new Date(since);
  const day = first.toLocaleDateString("sv"); // the Swedish form of a date is ISO's
  first.setDate(first.getDate() - Math.ceil(spanMs / (24 * hourMs)));
  const { data } = await api.usageDays({ since: first.toISOString(), ...end }, signal);
  return { bars: data.filter((bar) => bar.day >= day), before: data.filter((bar) => bar.day < day) };
}

/** Today is drawn to its end: a day has 23 hours where the clock goes forward. */
async function readHours({ since, ...end }: Times, spanMs: number, signal: AbortSignal): Promise<UseInBars> {
  const from = Date.parse(since);
  const before = Math.ceil(spanMs / hourMs);
  const hours = end.until === undefined ? Math.round((midnight(1).getTime() - from) / hourMs) : before;
  const first = new Date(from - before * hourMs).toISOString();
  const { data } = await api.turnBars({ since: first, ...end, width: String(hourMs / 1000) }, signal);
  const known = new Map(data.map((bar) => [Date.parse(bar.from), bar.models]));
  const bar = (hour: number): Bar => {
    const at = from + hour * hourMs;
    return { day: new Date(at).toISOString(), models: known.get(at) ?? [] };
  };
  return {
    bars: Array.from({ length: hours }, (_, hour) => bar(hour)),
    before: Array.from({ length: before }, (_, hour) => bar(hour - before)),
  };
}

export const isHour = ({ day }: Bar) => day.includes("T");

/** Both ends of what some bars cover; ISO. The gateway knows no future. */
export function endsOf(first: Bar, last: Bar): { readonly from: string; readonly to: string } {
  const begin = ({ day }: Bar) => new Date(day.includes("T") ? day : `${day}T00:00`);
  const end = begin(last);
  if (isHour(last)) end.setTime(end.getTime() + hourMs);
  else end.setDate(end.getDate() + 1);
  return { from: begin(first).toISOString(), to: new Date(Math.min(end.getTime(), Date.now())).toISOString() };
}

/** `22 Nov`, or `14:00` of an hour. */
export function barInWords(bar: Bar): string {
  if (isHour(bar)) return instantInWords(Date.parse(bar.day)).replace(/^.*, /, "");
  return new Date(`${bar.day}T12:00`).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}
