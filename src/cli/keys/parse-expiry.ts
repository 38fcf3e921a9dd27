import { MillraceError } from "../../base/errors.ts";
import { parseDuration } from "../options.ts";

/** `30d`, or a day of the future such as `2027-01-31` (to its end), as epoch ms. Throws `invalid_request`. */
export function parseExpiry(raw: string, nowMs: number): number {
  const day = /^(\d{4})-(\d{2})-(\d{2})$/.exec(raw);
  if (day === null) {
    const ms = parseDuration(raw);
    if (ms > 0) return nowMs + ms;
    throw wrong(raw, "an expiry");
  }
  const [year, month, date] = [Number(day[1]), Number(day[2]), Number(day[3])];
  const exists = new Date(year, month - 1, date).getDate() === date && month >= 1 && month <= 12;
  const endMs = new Date(year, month - 1, date + 1).getTime();
  if (!exists || endMs <= nowMs) throw wrong(raw, "a day of the future");
  return endMs;
}

function wrong(raw: string, what: string): MillraceError {
  return new MillraceError("invalid_request", `${JSON.stringify(raw)} is not ${what}.`, {
    hint: "Give a time such as 30d or 2027-01-31.",
  });
}
