import type { Backends } from "../../backends/backend.ts";
import { bestEffort, timeLimit } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isWithoutIde } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { BackendKind } from "../../log/event.ts";
import type { LogStore } from "../../log/store.ts";

/** A trajectory that Millrace began, and of which no process noted that it archived it. */
export interface NotedTrajectory {
  readonly cascadeId: CascadeId;
  /** The process that began it or took it up last, as the log names owners; undefined in notes of older builds. */
  readonly owner: string | undefined;
  /** When that was, epoch ms. */
  readonly atMs: number;
  /** It is kept open for the next turn of its conversation until then, epoch ms. */
  readonly untilMs: number | undefined;
}

/** Where trajectories are noted, so that what is left behind can be cleaned up. Noting never fails. */
export interface TrajectoryNotes {
  /** It is kept open for the next turn of its conversation, until then (epoch ms). Resolves when that is noted. */
  kept(cascadeId: CascadeId, untilMs: number): Promise<void>;
  /** A turn of this process uses it again. */
  taken(cascadeId: CascadeId): void;
  /** A turn uses it that asks this model for this client. */
  asked(cascadeId: CascadeId, turn: { readonly model: string; readonly client: string | undefined }): void;
  /** There is nothing left to do for it. */
  archived(cascadeId: CascadeId): void;
  /** Trajectories of this process and of others that are not archived. Rejects with the errors of reading them. */
  left(): Promise<readonly NotedTrajectory[]>;
}

/** The pause between two looks, the most refusals of an IDE, and the pauses between two tries of one trajectory. A row of docs/dev/turn-machine.md. */
const lookEveryMs = 60_000;
const mostRefusals = 5;
const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;

/** This process archives the trajectories that it keeps open. One that is still open after this time counts as orphaned; ms. */
const ownKeptMs = 300_000;

/** How far apart the times of a turn and of its note may be on a clock that is set; ms. */
const skewMs = 10_000;

/**
 * Archives orphaned trajectories until the signal aborts: those that an ended process had begun or kept open, and those that an IDE
 * did not archive when their turn ended. A trajectory that a running turn may use is not touched. One that the IDE refuses to archive
 * is given up after a few tries. While no IDE runs, the tries become rarer.
 *
 * Source: docs/reliability.md, "Where it ends".
 */
export async function archiveOrphanedTrajectories(
  options: {
    readonly notes: TrajectoryNotes;
    readonly store: Pick<LogStore, "oldestRunningMs">;
    readonly clock: Clock;
    /** Names this process. */
    readonly owner: string;
    /** Whether this process keeps it or uses it now: the times of notes are wall time, which may jump. */
    readonly isKept?: (cascadeId: CascadeId) => boolean;
    /** Stops and archives a trajectory. Throws the errors of finding an IDE, and the IDE's own. */
    readonly archive: (cascadeId: CascadeId) => Promise<void>;
  },
  signal: AbortSignal,
): Promise<void> {
  const { notes, clock, archive } = options;
  const tried = new Map<
    CascadeId,
    {
      readonly refusals: number;
      readonly pauseMs: number;
      readonly againAtMs: number;
    }
  >();
  while (!signal.aborted) {
    let nextAtMs = clock.now() + lookEveryMs;
    for (const { cascadeId, fromMs } of await orphanedTrajectories(options)) {
      const atMs = Math.max(fromMs, tried.get(cascadeId)?.againAtMs ?? 0);
      if (atMs > clock.now()) nextAtMs = Math.min(nextAtMs, atMs);
      else if (!signal.aborted) await tryOne(cascadeId);
    }
    await bestEffort(clock.sleep(nextAtMs - clock.now(), signal));
  }

  async function tryOne(cascadeId: CascadeId): Promise<void> {
    try {
      await archive(cascadeId);
    } catch (error) {
      const before = tried.get(cascadeId) ?? { refusals: 0, pauseMs: firstPauseMs };
      const refusals = before.refusals + (isWithoutIde(error) ? 0 : 1);
      const pauseMs = Math.min(before.pauseMs * 2, longestPauseMs);
      tried.set(cascadeId, { refusals, pauseMs, againAtMs: clock.now() + before.pauseMs });
      if (refusals < mostRefusals) return;
    }
    tried.delete(cascadeId);
    notes.archived(cascadeId);
  }
}

/** Trajectories whose process ended, or whose turn this process has ended, with the time from which each may be archived. */
async function orphanedTrajectories({
  notes,
  store,
  owner,
  isKept = () => false,
}: Parameters<typeof archiveOrphanedTrajectories>[0]): Promise<
  readonly { readonly cascadeId: CascadeId; readonly fromMs: number }[]
> {
  try {
    const noted = (await notes.left()).filter((each) => {
      if (isKept(each.cascadeId)) return false;
      if (each.owner === undefined) return each.untilMs !== undefined;
      return each.owner === owner || each.owner.includes("/"); // a home has one gateway, so any other one has ended; a command has no home
    });
    if (noted.length === 0) return [];
    const oldestMs = await store.oldestRunningMs();
    return noted.flatMap(({ cascadeId, owner: of, atMs, untilMs }) => {
      if (untilMs !== undefined) return [{ cascadeId, fromMs: untilMs + (of === owner ? ownKeptMs : 0) }];
      return atMs + skewMs < oldestMs ? [{ cascadeId, fromMs: atMs + skewMs }] : []; // a turn is stored before it begins one, and may use one that began after it
    });
  } catch {
    return []; // notes or a store that cannot be read: the next look tries again
  }
}

/** An agent may have to be started first: OpenCode took 10 s on a busy machine. */
const archiveMs: Readonly<Record<BackendKind, number>> = { cascade: 5_000, raw_chat: 5_000, acp: 60_000 };

/** Only cascades and sessions of agents are ever archived. */
function kindOf(cascadeId: CascadeId): BackendKind {
  return cascadeId.startsWith("acp:") ? "acp" : "cascade";
}

/** Archives trajectories over the backend that there is then. `isStop`: but one whose prompt waits for results there. */
export function archiverOf(backends: Backends): (cascadeId: CascadeId, isStop?: boolean) => Promise<void> {
  return async (cascadeId, isStop = false) => {
    const kind = kindOf(cascadeId);
    const signal = timeLimit(archiveMs[kind]);
    const backend = await backends.holding({ backend: kind, cascadeId }, signal);
    if (!isStop || (await backend.waits?.(cascadeId)) !== true) await backend.archive(cascadeId, signal);
  };
}
