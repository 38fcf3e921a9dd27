import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { MillraceError } from "../base/errors.ts";
import type { UsageHistory } from "../usage/history/history.ts";
import { openHistory } from "../usage/history/sqlite-history.ts";
import type { Io } from "./io.ts";

const defaultKeepDays = 400;

/**
 * The usage history in the log's file; in memory without one.
 *
 * @throws MillraceError `degraded`, and `invalid_request` for a MILLRACE_USAGE_DAYS that is none.
 */
export function openOwnHistory(env: Io["env"], storeFile: string | undefined): UsageHistory {
  const keepDays = keepDaysOf(env["MILLRACE_USAGE_DAYS"]);
  if (storeFile !== undefined) mkdirSync(dirname(storeFile), { recursive: true, mode: 0o700 });
  return openHistory({ file: storeFile ?? ":memory:", keepDays });
}

/** Days that the usage history is kept. */
function keepDaysOf(text: string | undefined): number {
  if (text === undefined || text === "") return defaultKeepDays;
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 36_500) return days;
  throw new MillraceError("invalid_request", `MILLRACE_USAGE_DAYS is ${JSON.stringify(text)}, not a number of days.`, {
    hint: "Give a whole number from 1 to 36500.",
  });
}
