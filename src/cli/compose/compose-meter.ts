import { workingFolder } from "../../backends/acp/known/agent-spec.ts";
import { bestEffort } from "../../base/async.ts";
import type { Emitter } from "../../base/emitter.ts";
import { sessionsFile } from "../../ide/account/cli-credentials.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import { setDatabaseAside } from "../../log/sqlite/open-file.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { DevinCalls } from "../../usage/devin-calls.ts";
import { encodeLimits } from "../../usage/envelope.ts";
import { type FallbackHistory, openFallbackHistory } from "../../usage/history/fallback-history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import { type Meter, openMeter } from "../../usage/meter.ts";
import { openReportThread } from "../../usage/report-thread.ts";
import { type AskReport, reportsOf } from "../../usage/reports.ts";
import { openUsageRecorder, type TurnSource } from "../../usage/usage-recorder.ts";
import { lastAsked, writeLimitsFile } from "../limits/limits-file.ts";
import { readPlans } from "../limits/read-plan.ts";
import type { Io } from "../terminal/output.ts";

interface MeterParts {
  readonly io: Pick<Io, "clock" | "env" | "platform" | "homeFolder">;
  readonly finder: IdeFinder;
  /** Millrace's folder: status lines read the meter's last values there. */
  readonly folder: string;
  /** The only home whose IDE is asked for. */
  readonly onlyHome: string | undefined;
  /** The SQLite file of the log; undefined keeps the history in memory. */
  readonly storeFile: string | undefined;
  /** Whether nothing else is in the file, so that a damaged one may be moved away, never deleted. */
  readonly ownsFile: boolean;
  readonly events: Emitter<UsageLifecycle & StoreLifecycle>;
}

/** A lock of another program is waited for this long in a gateway, where everything waits with it; ms. */
const openTimeoutMs = 250;

/** A meter over the running IDEs, with its history in the log's file, or in memory as long as that cannot be used. */
export function composeMeter({ io, finder, folder, onlyHome, storeFile, ownsFile, events }: MeterParts) {
  const { clock } = io;
  const setAside = () => {
    if (storeFile !== undefined) events.emit("history_set_aside", { copy: setDatabaseAside(storeFile) });
  };
  const open = () => openHistory({ file: storeFile ?? ":memory:", openTimeoutMs, ...(ownsFile && { setAside }) });
  const history = openFallbackHistory({ open, clock, events });
  const thread = storeFile === undefined ? undefined : openReportThread(storeFile);
  const here = reportsOf(history); // in memory: a thread does not see it, and it is as long as this process runs
  const ask: AskReport = (name, ...asked) => {
    const { degradedBy } = history; // a part of the entries waits in memory then
    if (thread === undefined || degradedBy !== undefined) return here(name, ...asked);
    return thread.ask(name, ...asked);
  };
  events.on("limits_changed", (limits) => {
    try {
      writeLimitsFile(folder, encodeLimits(limits));
    } catch {
      // status lines show older limits; nothing here depends on it
    }
  });
  const records = devinRecords(io, onlyHome);
  const meter = openMeter({
    readPlan: (signal) => readPlans(finder, clock, signal),
    history,
    clock,
    events,
    askedElsewhereAtMs: () => lastAsked(folder),
    ask,
    elsewhere: (query) => records.elsewhere(query),
  });
  return { meter, history, closeReports: async () => thread?.close() };
}

/** Devin's own records in the user's home, or in the only home that is asked for. */
function devinRecords({ platform, homeFolder, env }: MeterParts["io"], onlyHome: string | undefined): DevinCalls {
  const file = sessionsFile(
    platform === "win32" ? "windows" : platform === "darwin" ? "darwin" : "linux",
    onlyHome ?? homeFolder,
    onlyHome === undefined ? env : {},
  );
  return new DevinCalls(file, workingFolder);
}

/**
 * Starts the meter of a gateway over its turns: it reads in the background, and records every turn that ends. It is closed before the
 * turns and their store; that closes its history.
 */
export function startMeter(parts: {
  readonly meter: Meter;
  readonly history: FallbackHistory;
  readonly closeReports: () => Promise<void>;
  readonly turns: TurnSource;
  readonly events: Emitter<TurnLifecycle & UsageLifecycle>;
  /** The current name of a model's UID. */
  readonly nameOf: (uid: string) => string;
  /** The current price of a model's UID, in credits for one prompt. */
  readonly priceOf: (uid: string) => number | undefined;
  /** The name of a caller's key. */
  readonly keyOf?: (caller: string) => string | undefined;
}): { close(): Promise<void> } {
  const { meter, turns, events, nameOf, priceOf, keyOf } = parts;
  const stopping = new AbortController();
  const running = Promise.all([meter.run(stopping.signal), parts.history.heal(stopping.signal)]);
  const recorder = openUsageRecorder({
    turns,
    meter,
    nameOf,
    priceOf,
    events,
    ...(keyOf === undefined ? {} : { keyOf }),
  });
  const unsubscribe = events.on("turn_started", ({ turnId }) => {
    recorder.watch(turnId);
    void bestEffort(meter.limits({ wait: false }, stopping.signal)); // keeps the reading fresh: a refusal says when the quota resets
  });
  events.on("turn_adopted", ({ turnId }) => recorder.watch(turnId));
  return {
    async close() {
      unsubscribe();
      stopping.abort();
      await Promise.all([running, recorder.stop(), parts.closeReports()]);
      meter.history.close();
    },
  };
}
