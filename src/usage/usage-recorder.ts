import type { EventSink } from "../base/emitter.ts";
import type { TurnId } from "../base/ids.ts";
import { unhurried } from "../base/node/unhurried.ts";
import type { TurnLabel } from "../log/store.ts";
import { type FinishedTurn, finishedTurn } from "./history/finished-turn.ts";
import type { UsageLifecycle } from "./lifecycle.ts";
import type { Meter } from "./meter.ts";

/** The recorder's source of turns. It reads as an observer: it keeps no turn alive and delivers none, and it needs no client's key. */
export interface TurnSource {
  getLabel(turnId: TurnId): Promise<TurnLabel | undefined>;
  list(filter: { readonly open?: boolean; readonly limit: number }): Promise<readonly TurnLabel[]>;
  untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void>;
}

/** Puts every turn that ends into the usage history. */
export interface UsageRecorder {
  /** Records a turn once it has ended; nothing happens if it is watched already. */
  watch(turnId: TurnId): void;
  /** Resolves once nothing is watched any more. What had not ended is recorded after the next start. */
  stop(): Promise<void>;
}

/** How many ended turns a start looks back at: those that ended while no recorder ran. */
const lookedBack = 1000;
/** Turns that end within this time of each other are written in one transaction, after their clients have the end; ms. */
const gatherMs = 50;

/**
 * Opens the recorder. It first catches up with turns that run, and with turns that ended unrecorded when a process died
 * between a turn's end and its record. A turn that cannot be read is tried again at the next start (`usage_unrecorded`).
 */
export function openUsageRecorder(options: {
  readonly turns: TurnSource;
  readonly meter: Pick<Meter, "recordTurns" | "history">;
  readonly events: EventSink<UsageLifecycle>;
  /** Gives a model's current name by its UID. */
  readonly nameOf?: (uid: string) => string;
  /** Gives a model's price for one prompt, in credits, by its UID; undefined if unknown. */
  readonly priceOf?: (uid: string) => number | undefined;
  /** The name of a caller's key; undefined if unknown. */
  readonly keyOf?: (caller: string) => string | undefined;
}): UsageRecorder {
  const { turns, meter, events, nameOf, priceOf, keyOf } = options;
  const stopping = new AbortController();
  const watched = new Map<TurnId, Promise<void>>();
  const gathered: { readonly turn: FinishedTurn; readonly written: PromiseWithResolvers<void> }[] = [];
  let gathering: NodeJS.Timeout | undefined;

  function write(): void {
    clearTimeout(gathering);
    gathering = undefined;
    const turns = gathered.splice(0);
    if (turns.length === 0) return;
    try {
      meter.recordTurns(turns.map(({ turn }) => turn));
      for (const { written } of turns) written.resolve();
    } catch (error) {
      for (const { written } of turns) written.reject(error);
    }
  }

  function gather(turn: FinishedTurn, alone: boolean): Promise<void> {
    const written = Promise.withResolvers<void>();
    gathered.push({ turn, written });
    if (alone || stopping.signal.aborted) write();
    else gathering ??= setTimeout(write, gatherMs);
    return written.promise;
  }

  async function record(turnId: TurnId, alone: boolean): Promise<void> {
    await turns.untilEnded(turnId, stopping.signal);
    const found = await turns.getLabel(turnId);
    if (found === undefined) return;
    const turn = finishedTurn(found);
    if (turn === undefined) return;
    const key = keyOf?.(found.caller);
    // A prompt that failed may not have counted.
    const hasEstimate = turn.creditsHundredths === undefined && turn.outcome !== "failed";
    const price = hasEstimate ? priceOf?.(turn.model) : undefined;
    const row = {
      ...turn,
      ...(nameOf === undefined ? {} : { modelName: nameOf(turn.model) }),
      ...(key === undefined ? {} : { key }),
      ...(price === undefined ? {} : { estimatedHundredths: Math.round(price * 100) }),
    };
    await gather(row, alone);
  }

  function watch(turnId: TurnId, alone = false): void {
    if (watched.has(turnId) || stopping.signal.aborted) return;
    const work = record(turnId, alone)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) events.emit("usage_unrecorded", { error });
      })
      .finally(() => watched.delete(turnId));
    watched.set(turnId, work);
  }

  async function catchUp(): Promise<void> {
    for (const { turnId } of await turns.list({ open: true, limit: lookedBack })) watch(turnId);
    for await (const { turnId } of unhurried(await turns.list({ open: false, limit: lookedBack }))) {
      if (stopping.signal.aborted) return;
      if (meter.history.turn(turnId) !== undefined) continue;
      watch(turnId, true);
      await watched.get(turnId); // one after another: no request waits for these
    }
  }

  const caughtUp = catchUp().catch((error: unknown) => {
    if (!stopping.signal.aborted) events.emit("usage_unrecorded", { error });
  });
  return {
    watch: (turnId) => watch(turnId),
    async stop() {
      stopping.abort();
      write();
      await Promise.all([caughtUp, ...watched.values()]);
    },
  };
}
