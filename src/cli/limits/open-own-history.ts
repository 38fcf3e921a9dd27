import { workingFolder } from "../../backends/acp/known/agent-spec.ts";
import { cascadeIdOf } from "../../backends/acp/session/kept-sessions.ts";
import { sessionsFile } from "../../ide/account/cli-credentials.ts";
import { setDatabaseAside } from "../../log/sqlite/open-file.ts";
import { DevinCalls } from "../../usage/devin-calls.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { Io } from "../terminal/output.ts";

/** The usage history in the log's file; in memory without one. Throws `degraded`. */
export function openOwnHistory(
  storeFile: string | undefined,
  /** `onSetAside`: the file holds only the history, and a damaged one is moved aside, never deleted. */
  { onSetAside, ...more }: { readonly openTimeoutMs?: number; readonly onSetAside?: (copy: string) => void } = {},
): UsageHistory {
  const setsAside = onSetAside !== undefined && storeFile !== undefined;
  return openHistory({
    file: storeFile ?? ":memory:",
    ...more,
    ...(setsAside && { setAside: () => onSetAside(setDatabaseAside(storeFile)) }),
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
