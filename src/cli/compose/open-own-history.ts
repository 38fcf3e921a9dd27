import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { setDatabaseAside } from "../../log/sqlite/damage.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { Io } from "../terminal/io.ts";

const defaultKeepDays = 400;

interface OpenOptions {
  readonly openTimeoutMs?: number;
  /** What becomes of a damaged file that holds nothing but the history: it is moved aside, never deleted. */
  readonly onDamaged?: { readonly clock: Clock; readonly onSetAside: (copy: string) => void };
}

/**
 * The usage history in the log's file; in memory without one.
 *
 * @throws MillraceError `degraded`, and `invalid_request` for a MILLRACE_USAGE_DAYS that is none.
 */
export function openOwnHistory(
  env: Io["env"],
  storeFile: string | undefined,
  { openTimeoutMs, onDamaged }: OpenOptions = {},
): UsageHistory {
  const keepDays = keepDaysOf(env["MILLRACE_USAGE_DAYS"]);
  const setAside = () => {
    if (storeFile === undefined || onDamaged === undefined) return;
    onDamaged.onSetAside(setDatabaseAside(storeFile, String(onDamaged.clock.now())));
  };
  return openHistory({
    file: storeFile ?? ":memory:",
    keepDays,
    ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }),
    ...(onDamaged === undefined ? {} : { setAside }),
  });
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
