import { unitMs } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";

/** Sums are kept for each quarter of an hour: time zones differ by quarters. */
export const quarterMs = 900_000;

/**
 * Where a report begins: the quarter of an hour that the time lies in. Sums exist for quarters only, so what lists turns, limits or days
 * beside them begins there too.
 *
 * @throws as `parseTime`.
 */
export function parseSince(text: string, nowMs: number, param: string): number {
  return Math.floor(parseTime(text, nowMs, param) / quarterMs) * quarterMs;
}

/**
 * A time in the past as people write it: `7d`, `36h`, `2w` ago, a day (`2026-11-01`, `today`, `yesterday`, from its midnight), a week
 * (`last week`, from its Monday), an ISO instant. Without a zone, times are local ones.
 *
 * @param param the field or option, for the error.
 * @returns epoch ms, never after `nowMs`.
 * @throws MillraceError `invalid_request` for anything else, also for days that do not exist, and for the future.
 */
export function parseTime(text: string, nowMs: number, param: string): number {
  const named = dayNamed(text.trim().toLowerCase(), nowMs);
  if (named !== undefined) return named;
  const span = /^(\d{1,6})([mhdw])$/.exec(text.trim());
  const unit = unitMs[span?.[2] ?? ""];
  if (span?.[1] !== undefined && unit !== undefined) return nowMs - Number(span[1]) * unit;
  const form = /^(\d{4}-\d{2}-(\d{2}))(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/.exec(text);
  const isDay = form?.[1] === text;
  const atMs = form === null ? Number.NaN : Date.parse(isDay ? `${text}T00:00` : text);
  // JavaScript reads 31 April as 1 May; where a zone is given the day may differ rightly.
  const exists = !Number.isNaN(atMs) && (form?.[3] !== undefined || new Date(atMs).getDate() === Number(form?.[2]));
  if (!exists || atMs > nowMs) {
    const why = exists ? "lies in the future" : "is not a time";
    throw new MillraceError("invalid_request", `${param} ${JSON.stringify(text)} ${why}.`, {
      param,
      hint: "Give a span such as 7d, 36h or 2w, a day such as 2026-11-01, yesterday or last week, or an ISO instant.",
    });
  }
  return atMs;
}

/** How many days before today, or before this week's Monday, each named time begins. */
const namedDays: Readonly<Record<string, { readonly back: number; readonly fromMonday?: true }>> = {
  today: { back: 0 },
  yesterday: { back: 1 },
  "this week": { back: 0, fromMonday: true },
  "last week": { back: 7, fromMonday: true },
};

function dayNamed(word: string, nowMs: number): number | undefined {
  const named = Object.hasOwn(namedDays, word) ? namedDays[word] : undefined;
  if (named === undefined) return undefined;
  const day = new Date(nowMs);
  const sinceMonday = named.fromMonday === true ? (day.getDay() + 6) % 7 : 0;
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - sinceMonday - named.back).getTime();
}
