import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { MillraceError } from "../../base/errors.ts";
import type { EventId, TurnId } from "../../base/ids.ts";
import { announceTurns, type TurnStarts } from "../../gateway/answers/turn-starts.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { StreamTurns } from "../../turns/attach/attachment.ts";
import type { CallOutcome } from "../../turns/tools/call-desk.ts";
import { encodeLimits } from "../../usage/envelope.ts";
import { type FallbackHistory, openFallbackHistory } from "../../usage/history/fallback-history.ts";
import type { FinishedTurn } from "../../usage/history/finished-turn.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { type Limits, type Meter, openMeter } from "../../usage/meter.ts";
import { openUsageRecorder } from "../../usage/usage-recorder.ts";
import type { Io } from "../terminal/io.ts";
import { lastAsked, writeLimitsFile } from "./limits-file.ts";
import { openOwnHistory } from "./open-own-history.ts";
import { readPlans } from "./read-plan.ts";

export interface MeterParts {
  readonly io: Pick<Io, "clock" | "env">;
  readonly finder: IdeFinder;
  /** Millrace's folder: status lines read there what the meter last knew. */
  readonly folder: string;
  /** The SQLite file of the log; undefined keeps the history in memory. */
  readonly storeFile: string | undefined;
  /** Told of each ended turn, once. */
  readonly onTurn?: (turn: FinishedTurn) => void;
  /** Told what is known after each reading. */
  readonly onReading?: (limits: Limits) => void;
}

export interface OwnMeterParts extends MeterParts {
  /** Whether nothing else is in the file, so that a damaged one may be moved away. */
  readonly ownsFile: boolean;
  /** Told when the history cannot be used, with why, and when it can again. */
  readonly onDegraded: (error: MillraceError | undefined) => void;
  /** Told of the copy of a damaged file. */
  readonly onSetAside: (copy: string) => void;
}

/** A lock of another program is waited for this long in a gateway, where everything waits with it; ms. */
const openTimeoutMs = 250;

/**
 * A meter over the running IDEs, with its history in the log's file, or in memory as long as that cannot be used.
 *
 * @throws MillraceError `invalid_request` for settings that cannot be.
 */
export function composeMeter(parts: OwnMeterParts): { readonly meter: Meter; readonly history: FallbackHistory } {
  const { io, storeFile, ownsFile, onDegraded, onSetAside } = parts;
  const damaged = ownsFile && storeFile !== undefined ? { onDamaged: { clock: io.clock, onSetAside } } : {};
  const open = () => openOwnHistory(io.env, storeFile, { openTimeoutMs, ...damaged });
  const history = openFallbackHistory({ open, clock: io.clock, onDegraded });
  return { meter: meterOver(history, parts), history };
}

/** The same over a history that is open; whoever opened it closes it. */
export function meterOver(history: UsageHistory, parts: Omit<MeterParts, "storeFile">): Meter {
  const { io, finder, folder, onTurn, onReading = () => {} } = parts;
  return openMeter({
    readPlan: (signal) => readPlans(finder, io.clock, signal),
    history,
    clock: io.clock,
    onChange: (limits) => {
      onReading(limits);
      writeLimitsFile(folder, encodeLimits(limits));
    },
    ...(onTurn === undefined ? {} : { onTurn }),
    askedElsewhereAtMs: () => lastAsked(folder),
  });
}

/** The meter of a gateway: reads in the background, and records every turn that ends. */
export interface GatewayMeter {
  readonly meter: Meter;
  /** Hand these to the gateway instead of the turns that were given. */
  readonly turns: StreamTurns;
  readonly starts: TurnStarts;
  /** The turns' `onOutcomes`. */
  noteCalls(turn: { readonly turnId: string; readonly modelUid: string }, outcomes: readonly CallOutcome[]): void;
  /** The turns' `onAdopted`: notes it for the turn's page, and follows the turn to its end like one that began here. */
  noteAdopted(turn: { readonly turnId: TurnId; readonly lastEventId: EventId }): void;
  /** Before the turns and their store are closed. */
  close(): Promise<void>;
}

/** Starts the meter of a gateway over its turns; closing it closes the meter's history. */
export function startMeter(parts: {
  readonly meter: Meter;
  readonly history: FallbackHistory;
  readonly clock: Clock;
  readonly turns: StreamTurns;
  readonly log: GatewayLog;
  /** What a model's UID is called now. */
  readonly nameOf: (uid: string) => string;
}): GatewayMeter {
  const { meter, clock } = parts;
  const { turns, starts } = announceTurns(parts.turns);
  const stopping = new AbortController();
  const running = Promise.all([meter.run(stopping.signal), parts.history.heal(stopping.signal)]);
  const recorder = openUsageRecorder({
    turns,
    meter,
    nameOf: parts.nameOf,
    onProblem: (error) => parts.log.write("warn", "usage not recorded", { error: String(error) }),
  });
  const unsubscribe = starts.subscribe((turnId) => {
    recorder.watch(turnId);
    void bestEffort(meter.limits({ wait: false }, stopping.signal)); // keeps the reading fresh: a refusal says when the quota resets
  });
  return {
    meter,
    turns,
    starts,
    noteCalls({ turnId, modelUid }, outcomes) {
      const count = (outcome: CallOutcome) => outcomes.filter((each) => each === outcome).length;
      meter.recordToolCalls({
        turnId,
        model: modelUid,
        atMs: clock.now(),
        firstTry: count("first_try"),
        repaired: count("repaired"),
        reasked: count("reasked"),
        failed: count("failed"),
      });
    },
    noteAdopted({ turnId, lastEventId: after }) {
      meter.recordResumption({ turnId, atMs: clock.now(), how: "adopted", after, client: undefined });
      recorder.watch(turnId);
    },
    async close() {
      unsubscribe();
      stopping.abort();
      await Promise.all([running, recorder.stop()]);
      meter.history.close();
    },
  };
}
