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
