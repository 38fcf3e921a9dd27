import { bestEffort } from "../base/async.ts";
import { Emitter, type EventSink } from "../base/emitter.ts";
import type { CascadeId } from "../base/ids.ts";
import { adoptLeft } from "./adopt.ts";
import { openAttach, type StreamTurns } from "./attach.ts";
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

/** Turns over a log store and a backend. Adopts at once the turns that an earlier process left running there. */
export function openTurns(options: TurnsOptions): StreamTurns {
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
  const starter = new TurnStarter({
    ...options,
    events,
    readers,
    queue,
    refusals,
    backOff,
    continuity,
    recall,
    running,
  });
  const { stopping } = running;
  const { survivesRestart } = store.capabilities;
  const upkeep = Promise.all([
    survivesRestart && refusals.recall(store, owner),
    survivesRestart && adoptLeft({ ...options, events, queue, continuity, recall, running, readers }, stopping),
    sweepEachMinute(options, events, stopping),
    notes && archiveOrphanedTrajectories({ notes, store, clock, owner, archive, isKept }, stopping),
  ]);
  return {
    ...reads,
    start: (asked, signal) => starter.start(asked, signal),
    attach: openAttach({ ...options, readers, reads, starter, backOff, running }),
    untilEnded: (turnId, signal) => store.untilEnded(turnId, signal),
    // A turn that waits here counts as alive: its prompt was not sent yet.
    lastAliveAtMs: (turnId) => (queue.placeOf(turnId) ? clock.now() : running.lastAliveAtMs(turnId)),
    placeInQueue: (turnId) => queue.placeOf(turnId),
    unread: (turnId) => readers.unread(turnId),
    blocked: () => refusals.blocked,
    load: () => queue.load,
    noteReader: (record, graceMs) => readers.note(record, graceMs),
    noteDelivered: (turnId) => store.noteDelivered(turnId),
    cancel: async (turnId, by) => void (await running.cancel(turnId, by)),
    get: (turnId, caller) => store.get(turnId, { caller }),
    getLabel: (turnId) => store.getLabel(turnId),
    remove: (turnId) => running.remove(turnId),
    list: (filter) => store.list(filter),
    async stop() {
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
