import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { setDatabaseAside } from "../../log/sqlite/open-file.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";

/** How long the usage history is kept. */
const keepDays = 400;

interface OpenOptions {
  readonly openTimeoutMs?: number;
  /** The file holds only the history: a damaged one is moved aside, never deleted. */
  readonly ownFile?: { readonly clock: Clock; readonly events: EventSink<UsageLifecycle> };
}

/** The usage history in the log's file; in memory without one. Throws `degraded`. */
export function openOwnHistory(
  storeFile: string | undefined,
  { openTimeoutMs, ownFile }: OpenOptions = {},
): UsageHistory {
  const setAside = () => {
    if (storeFile === undefined || ownFile === undefined) return;
    const copy = setDatabaseAside(storeFile);
    ownFile.events.emit("history_set_aside", { copy });
  };
  return openHistory({
    file: storeFile ?? ":memory:",
    keepDays,
    ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }),
    ...(ownFile === undefined ? {} : { setAside }),
  });
}
