import type { Backends } from "../backends/backend.ts";
import type { Clock } from "../base/clock.ts";
import { Emitter } from "../base/emitter.ts";
import type { LogStore } from "../log/store.ts";
import { Attaching } from "./attach/attaching.ts";
import type { StreamTurns } from "./attach/attachment.ts";
import { Continuity } from "./continuity/continuity.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import { Readers } from "./read/readers.ts";
import { Reading } from "./read/reading.ts";
import type { Planning } from "./run/turn-plan.ts";
import type { Admission } from "./start/admission.ts";
import { Launcher } from "./start/launcher.ts";
import { Refusals, type RefusalsOptions } from "./start/refusals.ts";
import { Starting } from "./start/starting.ts";
import { type TurnLimits, TurnQueue } from "./start/turn-queue.ts";
import type { TrajectoryNotes } from "./supervise/archive-orphaned-trajectories.ts";
import { archiverOf } from "./supervise/archiver.ts";
import type { CanTakeOver } from "./supervise/left-to-others.ts";
import { Supervisor } from "./supervise/supervisor.ts";

export interface TurnsOptions extends Planning {
  /** Stays open when the turns stop; its opener closes it. */
  readonly store: LogStore;
  readonly backends: Backends;
  readonly clock: Clock;
  /** How long a turn continues without a reader, if the request does not say; ms. */
  readonly graceMs: number;
  /** Whether a repeated request without a key may join its twin. */
  readonly implicitJoins: boolean;
  /** Names this process among those that share the store; never used twice. */
  readonly owner: string;
  /** Whether another owner's process is known to be gone although its lease has not run out. */
  readonly ownerIsGone?: (owner: string) => boolean;
  /** As `SupervisorOptions.canTakeOver`. */
  readonly canTakeOver?: CanTakeOver;
  /** Keeps trajectories open for the next turn of their conversation, this long; every turn has a fresh one without it. */
  readonly continuity?: { readonly idleMs: number };
  /** As `RefusalsOptions` has them: when a quota resets, and whether a model may be asked now. */
  readonly resetOf?: RefusalsOptions["resetOf"];
  readonly limitOf?: RefusalsOptions["limitOf"];
  /** How many turns may run at the same time; any number without it. */
  readonly limits?: TurnLimits;
  /** Whether a turn may start; each may without it. */
  readonly admission?: Admission;
  /** Where trajectories are recorded, so that orphaned ones can be archived later. */
  readonly trajectoryNotes?: TrajectoryNotes;
}

/**
 * Turns over a log store and a backend, in four parts: starting, reading, stream attachments and supervising. Adopts at once
 * the turns that an earlier process left running there.
 */
export function openTurns(options: TurnsOptions): StreamTurns {
  const { store, backends, clock, events = new Emitter<TurnLifecycle>() } = options;
  const archive = archiverOf(backends);
  const readers = new Readers(clock);
  const queue = new TurnQueue({ clock, isRead: (turnId) => readers.has(turnId), ...options.limits });
  readers.onCome = () => queue.pump();
  const supervisor = new Supervisor({ ...options, planning: options, readers, queue, archive, events });
  const reading = new Reading({ ...options, readers, running: supervisor });
  const continuity =
    options.continuity && new Continuity({ clock, ...options.continuity, archive, notes: options.trajectoryNotes });
  const refusals = new Refusals({ clock, resetOf: options.resetOf, limitOf: options.limitOf });
  const launcher = new Launcher({
    ...options,
    planning: options,
    readers,
    queue,
    refusals,
    continuity,
    events,
    running: supervisor,
  });
  const starting = new Starting({ ...options, readers, reading, launcher, running: supervisor });
  const attaching = new Attaching({ ...options, reading, starting, launcher, running: supervisor });
  return {
    start: (asked, signal) => starting.start(asked, signal),
    join: (asked, signal) => starting.join(asked, signal),
    attach: (name, intent, attach) => attaching.attach(name, intent, attach),
    read: (turnId, after, signal) => reading.read(turnId, after, signal),
    follow: (turnId, after, signal) => reading.follow(turnId, after, signal),
    outline: (turnId, after, signal) => reading.outline(turnId, after, signal),
    untilEnded: (turnId, signal) => store.untilEnded(turnId, signal),
    // A turn that waits here counts as alive: its prompt was not sent yet.
    lastAliveAtMs: (turnId) => (queue.placeOf(turnId) ? clock.now() : supervisor.lastAliveAtMs(turnId)),
    placeInQueue: (turnId) => queue.placeOf(turnId),
    load: () => queue.load,
    noteReader: (record, graceMs) => reading.noteReaderOf(record, graceMs),
    noteDelivered: (turnId) => store.noteDelivered(turnId),
    cancel: async (turnId, by) => void (await supervisor.cancel(turnId, by)),
    get: (turnId, caller) => store.get(turnId, { caller }),
    remove: (turnId) => supervisor.remove(turnId),
    list: (filter) => store.list(filter),
    async stop() {
      await supervisor.stop();
      await launcher.close();
      await continuity?.close();
      await readers.close();
      await supervisor.release();
    },
  };
}
