import { workingFolder } from "../../backends/acp/known/agent-spec.ts";
import { cascadeIdOf } from "../../backends/acp/session/kept-sessions.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { sessionsFile } from "../../ide/account/cli-credentials.ts";
import { setDatabaseAside } from "../../log/sqlite/open-file.ts";
import { DevinCalls } from "../../usage/devin-calls.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { Io } from "../terminal/output.ts";

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
    ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }),
    ...(ownFile === undefined ? {} : { setAside }),
  });
}

/** Devin's own records in the user's home, or in the only home that is asked for. */
export function devinRecords(
  { platform, homeFolder, env }: Pick<Io, "platform" | "homeFolder" | "env">,
  onlyHome: string | undefined,
): DevinCalls {
  const file = sessionsFile(
    platform === "win32" ? "windows" : platform === "darwin" ? "darwin" : "linux",
    onlyHome ?? homeFolder,
    onlyHome === undefined ? env : {},
  );
  return new DevinCalls(file, workingFolder, (session) => cascadeIdOf("devin", session));
}
