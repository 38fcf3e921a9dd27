import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";

/** A trajectory that is kept open until then, epoch ms. */
export interface KeptUntil {
  readonly cascadeId: CascadeId;
  readonly untilMs: number;
}

/** Where kept trajectories are noted, so that a later process can clean up after one that died. Noting never fails. */
export interface KeptNotes {
  kept(trajectory: KeptUntil): void;
  /** A turn uses it again: whoever runs that turn looks after it. */
  taken(cascadeId: CascadeId): void;
  archived(cascadeId: CascadeId): void;
  /** Those that are kept and neither taken nor archived since, by this process or another. */
  left(): Promise<readonly KeptUntil[]>;
}

/**
 * Archives what an earlier process kept open and did not live to clean up, each when its time has passed; a process that
 * still lives moves the time of its own on, or archives it itself first. One whose IDE does not run is left for the next
 * start. Resolves when nothing is left, or the signal aborts.
 *
 * Source: facts/client-contract.md, part 3: no trajectories are left behind.
 */
export async function archiveLeftBehind(
  options: {
    readonly notes: KeptNotes;
    readonly clock: Clock;
    readonly archive: (cascadeId: CascadeId) => Promise<void>;
  },
  signal: AbortSignal,
): Promise<void> {
  const { notes, clock, archive } = options;
  let ids = new Set((await notes.left()).map(({ cascadeId }) => cascadeId));
  while (ids.size > 0 && !signal.aborted) {
    const left = (await notes.left()).filter(({ cascadeId }) => ids.has(cascadeId)); // anew: somebody may have used them
    ids = new Set(left.map(({ cascadeId }) => cascadeId));
    for (const { cascadeId, untilMs } of left) {
      if (untilMs > clock.now() || signal.aborted) continue;
      ids.delete(cascadeId);
      try {
        await archive(cascadeId);
      } catch (error) {
        if (isMillraceError(error) && (error.code === "ide_not_running" || error.code === "not_signed_in")) continue;
        // whatever else it says, this IDE does not have it: asking at every start helps nobody
      }
      notes.archived(cascadeId);
    }
    const next = Math.min(...left.filter(({ cascadeId }) => ids.has(cascadeId)).map(({ untilMs }) => untilMs));
    if (Number.isFinite(next)) await bestEffort(clock.sleep(Math.max(1_000, next - clock.now()), signal));
  }
}
