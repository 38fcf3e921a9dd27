import { bestEffort } from "../base/async.ts";
import { Emitter, type EventSink } from "../base/emitter.ts";
import type { CascadeId, TurnId } from "../base/ids.ts";
import type { CancelledBy } from "../log/event.ts";
import type { TurnRecord } from "../log/store.ts";
import { adoptLeft } from "./adopt.ts";
import { openAttach } from "./attach.ts";
import { BackOff } from "./back-off.ts";
import { Continuity } from "./continuity/continuity.ts";
import { archiveOrphanedTrajectories, archiverOf } from "./continuity/orphaned-trajectories.ts";
import { openRecall } from "./continuity/recall.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import type { TurnsOptions } from "./options.ts";
import { TurnQueue } from "./queue.ts";
import { openReads } from "./read.ts";
import { Readers } from "./readers.ts";
import { Refusals } from "./refusals.ts";
import { RunningTurns } from "./running-turns.ts";
import { TurnStarter } from "./start.ts";

/** Turns that can also be started by the numbered messages of a client's stream. */
export type StreamTurns = ReturnType<typeof openTurns>;

/** Turns as the gateway knows them: start one, read it from any cursor, cancel it. */
export type Turns = Omit<StreamTurns, "attach">;

/** Turns over a log store and a backend. Adopts at once the turns that an earlier process left running there. */
export function openTurns(options: TurnsOptions) {
  const { store, backends, clock, owner, trajectoryNotes: notes } = options;
  const events = options.events ?? new Emitter<TurnLifecycle>();
  const archive = archiverOf(backends);
  const readers = new Readers(options);
  const queue = new TurnQueue({ clock, isWanted: (turn) => readers.isWanted(turn), ...options.limits });
  readers.onCome = () => queue.pump();
  const running = new RunningTurns({ ...options, readers, events });
  const reads = openReads(store, readers, running.stopping);
  const continuity = options.continuity && new Continuity({ clock, ...options.continuity, archive, notes });
  const isKept = (cascadeId: CascadeId) => continuity?.has(cascadeId) === true;
  const refusals = new Refusals(options);
  const backOff = new BackOff(() => clock.now());
  const recall = continuity && openRecall({ store, continuity, clock, owner });
  const parts = { ...options, events, readers, queue, refusals, backOff, continuity, recall, running };
  const starter = new TurnStarter(parts);
  const { stopping } = running;
  const { survivesRestart } = store.capabilities;
  const upkeep = Promise.all([
    survivesRestart && refusals.recall(store, owner),
    survivesRestart && adoptLeft(parts, stopping),
    sweepEachMinute(options, events, stopping),
    notes && archiveOrphanedTrajectories({ notes, store, clock, owner, archive, isKept }, stopping),
  ]);
  return {
    ...reads,
    /** As of `TurnStarter`. */
    start: (...asked: Parameters<TurnStarter["start"]>) => starter.start(...asked),
    attach: openAttach({ ...parts, reads, starter }),
    /** Resolves once the turn has ended, in any process. Throws as `follow` does. */
    untilEnded: (turnId: TurnId, signal: AbortSignal) => store.untilEnded(turnId, signal),
    /**
     * Epoch ms of the last poll that the upstream answered, for heartbeats; undefined before the first. A turn that waits here counts as
     * alive: its prompt was not sent yet.
     */
    lastAliveAtMs: (turnId: TurnId) => (queue.placeOf(turnId) ? clock.now() : running.lastAliveAtMs(turnId)),
    /** The turn's place in the queue of turns whose prompt is not sent yet; undefined if it does not wait. */
    placeInQueue: (turnId: TurnId) => queue.placeOf(turnId),
    /** Since when a turn that runs here has no reader, and until when it goes on; undefined while it has one, or does not run here. */
    unread: (turnId: TurnId) => readers.unread(turnId),
    /** The models that a limit keeps from being asked now. */
    blocked: () => refusals.blocked,
    /** How many turns run in this process, and how many wait in its queue. */
    load: () => queue.load,
    /**
     * The client came back: extends the grace time if the client now asks for a longer one.
     * Returns the turn with the new values, or unchanged if they cannot be stored.
     */
    noteReader: (record: TurnRecord, graceMs: number | undefined) => readers.note(record, graceMs),
    /** The client has the whole answer, by another way than a reader: no repetition of its request joins the turn. Throws the store's errors. */
    noteDelivered: (turnId: TurnId) => store.noteDelivered(turnId),
    /** Ends the turn, durably; nothing happens if it has ended. */
    async cancel(turnId: TurnId, by: CancelledBy): Promise<void> {
      await running.cancel(turnId, by);
    },
    /**
     * Throws `expired` while the tombstone of a turn that is no longer kept remains. With a caller, a turn of another one is
     * unknown, kept or not.
     */
    get: (turnId: TurnId, caller?: string) => store.get(turnId, { caller }),
    /** As `get`, for any caller and without the request, which is not opened. */
    getLabel: (turnId: TurnId) => store.getLabel(turnId),
    /** Ends the turn if it runs, then forgets it and its events; nothing happens if it is unknown. */
    remove: (turnId: TurnId) => running.remove(turnId),
    list: (filter: Pick<Parameters<typeof store.list>[0], "open" | "caller" | "limit">) => store.list(filter),
    /** Ends or hands over the running turns, then resolves. */
    async stop(): Promise<void> {
      await running.stop(upkeep);
      await starter.close();
      await continuity?.close();
      await readers.close();
    },
  };
}

const sweepEveryMs = 60_000;

/** Erases expired data at once and then each minute, until the signal aborts. A sweep that failed is tried again a minute later. */
async function sweepEachMinute(
  { store, clock }: Pick<TurnsOptions, "store" | "clock">,
  events: EventSink<TurnLifecycle>,
  signal: AbortSignal,
): Promise<void> {
  const onProblem = (error: unknown) =>
    events.emit("turn_problem", { event: "turn_upkeep_failed", turnId: undefined, error });
  while (!signal.aborted) {
    await bestEffort(store.sweep(), onProblem);
    await bestEffort(clock.sleep(sweepEveryMs, signal));
  }
}
