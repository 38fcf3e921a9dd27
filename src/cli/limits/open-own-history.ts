import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { MillraceError } from "../../base/errors.ts";
import { setDatabaseAside } from "../../log/sqlite/damage.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { Io } from "../terminal/io.ts";

const defaultKeepDays = 400;

interface OpenOptions {
  readonly openTimeoutMs?: number;
  /** The file holds only the history: a damaged one is moved aside, never deleted. */
  readonly ownFile?: { readonly clock: Clock; readonly events: EventSink<UsageLifecycle> };
}

/**
 * The usage history in the log's file; in memory without one.
 *
 * @throws MillraceError `degraded`, and `invalid_request` for a MILLRACE_USAGE_DAYS that is none.
 */
export function openOwnHistory(
  env: Io["env"],
  storeFile: string | undefined,
  { openTimeoutMs, ownFile }: OpenOptions = {},
): UsageHistory {
  const keepDays = keepDaysOf(env["MILLRACE_USAGE_DAYS"]);
  const setAside = () => {
    if (storeFile === undefined || ownFile === undefined) return;
    const copy = setDatabaseAside(storeFile, String(ownFile.clock.now()));
    ownFile.events.emit("history_set_aside", { copy });
  };
  return openHistory({
    file: storeFile ?? ":memory:",
    keepDays,
    ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }),
    ...(ownFile === undefined ? {} : { setAside }),
  });
}

/** Days that the usage history is kept. */
export function keepDaysOf(text: string | undefined): number {
  if (text === undefined || text === "") return defaultKeepDays;
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 36_500) return days;
  throw new MillraceError("invalid_request", `MILLRACE_USAGE_DAYS is ${JSON.stringify(text)}, not a number of days.`, {
    hint: "Give a whole number from 1 to 36500.",
  });
}
