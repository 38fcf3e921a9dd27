import { MillraceError } from "../../base/errors.ts";
import { parseDuration } from "../options.ts";
import { apiNames, type Budget, budgetPeriods, budgetUnits } from "./key-record.ts";

/** `50 turns/day`, `2000000 tokens/month`, `12.5 credits/day`. Throws `invalid_request`. */
export function parseBudget(raw: string): Budget {
  const match = /^([\d_]+(?:\.\d+)?)\s*([a-z]+)\s*(?:\/|per|a)\s*([a-z]+)$/i.exec(raw.trim());
  const most = Number(match?.[1]?.replaceAll("_", ""));
  const unit = budgetUnits.find((known) => known === match?.[2] || known === `${match?.[2]}s`);
  const period = budgetPeriods.find((known) => known === match?.[3]);
  if (!(most > 0) || unit === undefined || period === undefined)
    throw wrong(raw, "a budget", 'such as "50 turns/day", "2000000 tokens/month" or "12.5 credits/day"');
  return { most, unit, period };
}

/** `30d`, or a day of the future such as `2027-01-31` (to its end), as epoch ms. Throws `invalid_request`. */
export function parseExpiry(raw: string, nowMs: number): number {
  const day = /^(\d{4})-(\d{2})-(\d{2})$/.exec(raw);
  if (day === null) {
    const ms = parseDuration(raw);
    if (ms > 0) return nowMs + ms;
    throw wrong(raw, "an expiry", "such as 30d or 2027-01-31");
  }
  const [year, month, date] = [Number(day[1]), Number(day[2]), Number(day[3])];
  const exists = new Date(year, month - 1, date).getDate() === date && month >= 1 && month <= 12;
  const endMs = new Date(year, month - 1, date + 1).getTime();
  if (!exists || endMs <= nowMs) throw wrong(raw, "a day of the future", "such as 30d or 2027-01-31");
  return endMs;
}

/** Parses names of APIs. Throws `invalid_request` for an unknown one. */
export function parseApis(raw: readonly string[]): (typeof apiNames)[number][] {
  return raw.map((name) => {
    const found = apiNames.find((known) => known === name);
    if (found === undefined) throw wrong(name, "an API", `one of ${apiNames.join(", ")}`);
    return found;
  });
}

function wrong(raw: string, what: string, right: string): MillraceError {
  return new MillraceError("invalid_request", `${JSON.stringify(raw)} is not ${what}.`, { hint: `Give ${right}.` });
}
