import { MillraceError } from "../../base/errors.ts";

/**
 * The day (`2026-11-21`) that an instant lies in, by a time zone's own midnight: days of 23 and 25 hours come out right.
 *
 * @throws MillraceError `invalid_request` for a time zone that does not exist.
 */
export function localDays(timeZone: string): (atMs: number) => string {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  } catch (cause) {
    throw new MillraceError("invalid_request", `There is no time zone ${JSON.stringify(timeZone)}.`, {
      hint: "Give an IANA name such as Europe/Berlin or UTC.",
      cause,
    });
  }
  return (atMs) => {
    const parts = format.formatToParts(atMs);
    const part = (type: "year" | "month" | "day") => parts.find((candidate) => candidate.type === type)?.value ?? "";
    return `${part("year")}-${part("month")}-${part("day")}`;
  };
}

/** A local day, or the requested part of it: epoch ms, `untilMs` exclusive. */
export interface LocalDay {
  readonly day: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * The days that a time touches, in order. Days begin at a multiple of `stepMs`: every time zone's do at a quarter of an hour.
 *
 * @throws MillraceError `invalid_request` for a time zone that does not exist.
 */
export function daysBetween(
  query: { readonly sinceMs: number; readonly untilMs: number; readonly timeZone: string },
  stepMs: number,
): readonly LocalDay[] {
  const dayOf = localDays(query.timeZone);
  const days: LocalDay[] = [];
  for (let atMs = query.sinceMs; atMs < query.untilMs; ) {
    const day = dayOf(atMs);
    let lastMs = Math.floor(atMs / stepMs) * stepMs;
    // Large steps first, then smaller ones: finding the day of a time is slow.
    for (const ms of [8 * 3_600_000, 3_600_000, stepMs]) while (dayOf(lastMs + ms) === day) lastMs += ms;
    const untilMs = lastMs + stepMs;
    days.push({ day, sinceMs: atMs, untilMs: Math.min(untilMs, query.untilMs) });
    atMs = untilMs;
  }
  return days;
}
