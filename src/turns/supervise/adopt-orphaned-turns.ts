import type { Backends, RunOptions } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { isDegraded, toMillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { Claimed, StoreHousekeeping, TurnRecord, TurnWriting } from "../../log/store.ts";
import type { TurnLifecycle } from "../lifecycle.ts";
import type { Planning } from "../run/turn-plan.ts";
import type { TurnQueue } from "../start/turn-queue.ts";
import { adopt } from "./adopt.ts";
import type { LeftToOthers } from "./left-to-others.ts";
import { orphanedTurns } from "./orphaned-turns.ts";
import type { RunningTurns } from "./running-turns.ts";

/** An adopted turn continues at least this long without readers, because its readers lost their connection to the old process. */
const adoptedGraceMs = 30_000;

export interface AdoptionOptions extends Planning {
  readonly store: TurnWriting & StoreHousekeeping;
  readonly backends: Backends;
  readonly clock: Clock;
  readonly owner: string;
  readonly ownerIsGone?: (owner: string) => boolean;
  readonly running: RunningTurns;
  readonly queue: TurnQueue;
  readonly runOptions: (turnId: TurnId) => RunOptions;
  readonly events: EventSink<TurnLifecycle>;
  /** Turns that this process claimed while the store failed, so that it could not continue them: they are tried again. */
  readonly again: Set<TurnId>;
  /** Turns that were this process's at the last look, and that it did not run; kept where other machines write the store. */
  readonly strays?: Set<TurnId>;
  /** Turns that a process on another machine can go on with; kept where other machines write the store. */
  readonly leftToOthers?: LeftToOthers;
}

/** Takes over every running turn whose process ended. A turn that cannot be continued does not hold up the others. */
export async function adoptOrphanedTurns(options: AdoptionOptions, signal: AbortSignal): Promise<void> {
  const { store, clock, owner, ownerIsGone = () => false, running, events, again, strays, leftToOthers } = options;
  const strayedBefore = new Set(strays);
  strays?.clear();
  const isStray = (turnId: TurnId) => {
    if (strays === undefined || running.get(turnId) !== undefined) return false;
    strays.add(turnId); // it may be about to begin: only one that is seen twice is left
    return strayedBefore.has(turnId);
  };
  const isLeft = ({ turnId, owner: its }: TurnRecord) =>
    its === owner ? again.has(turnId) || isStray(turnId) : ownerIsGone(its);
  const leftHere = strays !== undefined || again.size > 0;
  const orphans = await orphanedTurns(store, { self: owner, nowMs: clock.now(), isLeft, leftHere });
  for (const { turnId, graceMs, owner: its } of (await leftToOthers?.taken(orphans, signal)) ?? orphans) {
    if (signal.aborted) return;
    try {
      if (running.get(turnId) !== undefined) continue; // its runner is still letting go
      again.delete(turnId);
      const claimed = await store.claim(turnId, owner);
      if (ownerIsGone(its)) await store.renewOwner(its, 0); // the lease of a process that ended is of no use
      if (claimed === undefined) continue; // ended, or taken by another, since it was listed
      const { runner, cleanUp } = await goOnWith(claimed, options);
      running.add(turnId, runner, Math.max(graceMs, adoptedGraceMs), cleanUp);
      events.emit("turn_adopted", claimed.record);
    } catch (error) {
      if (isDegraded(error)) again.add(turnId);
      events.emit("turn_problem", { event: "turn_adopt_failed", turnId, error });
    }
  }
}

/** A turn whose log cannot be trusted ends as failed, because it cannot be continued. A log that cannot be read now stays unchanged. */
async function goOnWith(claimed: Claimed, options: AdoptionOptions): ReturnType<typeof adopt> {
  const { backends, clock, runOptions, queue } = options;
  try {
    return await adopt(claimed, { backends, planning: options, clock, run: runOptions(claimed.record.turnId), queue });
  } catch (error) {
    if (isDegraded(error)) throw error;
    await claimed.writer.append([{ type: "failed", error: toMillraceError(error).toRecord() }], clock.now());
    throw error;
  }
}
