import { bestEffort } from "../../base/async.ts";
import { Emitter } from "../../base/emitter.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { encodeLimits } from "../../usage/envelope.ts";
import { type FallbackHistory, openFallbackHistory } from "../../usage/history/fallback-history.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import { type Meter, openMeter } from "../../usage/meter.ts";
import { openReportThread } from "../../usage/report-thread.ts";
import { type AskReport, reportsOf } from "../../usage/reports.ts";
import { openUsageRecorder, type TurnSource } from "../../usage/usage-recorder.ts";
import { lastAsked, writeLimitsFile } from "../limits/limits-file.ts";
import { devinRecords, openOwnHistory } from "../limits/open-own-history.ts";
import { readPlans } from "../limits/read-plan.ts";
import type { Io } from "../terminal/output.ts";

interface MeterParts {
  readonly io: Pick<Io, "clock" | "env" | "platform" | "homeFolder">;
  readonly finder: IdeFinder;
  /** Millrace's folder: status lines read the meter's last values there. */
  readonly folder: string;
  /** The only home whose IDE is asked for. */
  readonly onlyHome: string | undefined;
  readonly events?: Emitter<UsageLifecycle>;
}

interface OwnMeterParts extends MeterParts {
  /** The SQLite file of the log; undefined keeps the history in memory. */
  readonly storeFile: string | undefined;
  /** Whether nothing else is in the file, so that a damaged one may be moved away. */
  readonly ownsFile: boolean;
  readonly events: Emitter<UsageLifecycle & StoreLifecycle>;
}

/** A lock of another program is waited for this long in a gateway, where everything waits with it; ms. */
const openTimeoutMs = 250;

/** A meter over the running IDEs, with its history in the log's file, or in memory as long as that cannot be used. */
export function composeMeter(parts: OwnMeterParts) {
  const { io, storeFile, ownsFile, events } = parts;
  const { clock } = io;
  const onSetAside = (copy: string) => events.emit("history_set_aside", { copy });
  const open = () => openOwnHistory(storeFile, { openTimeoutMs, ...(ownsFile && { onSetAside }) });
  const history = openFallbackHistory({ open, clock, events });
  const thread = storeFile === undefined ? undefined : openReportThread(storeFile);
  const here = reportsOf(history); // in memory: a thread does not see it, and it is as long as this process runs
  const ask: AskReport = (name, ...asked) => {
    const { degradedBy } = history; // a part of the entries waits in memory then
    if (thread === undefined || degradedBy !== undefined) return here(name, ...asked);
    return thread.ask(name, ...asked);
  };
  return { meter: meterOver(history, parts, ask), history, closeReports: async () => thread?.close() };
}

/** The same over an open history; the caller closes it. */
export function meterOver(history: UsageHistory, parts: MeterParts, ask = reportsOf(history)): Meter {
  const { io, finder, folder, onlyHome, events = new Emitter<UsageLifecycle>() } = parts;
  events.on("limits_changed", (limits) => {
    try {
      writeLimitsFile(folder, encodeLimits(limits));
    } catch {
      // status lines show older limits; nothing here depends on it
    }
  });
  const records = devinRecords(io, onlyHome);
  return openMeter({
    readPlan: (signal) => readPlans(finder, io.clock, signal),
    history,
    clock: io.clock,
    events,
    askedElsewhereAtMs: () => lastAsked(folder),
    ask,
    elsewhere: (query) => records.elsewhere(query, (...asked) => ask("sessions", ...asked)),
  });
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
