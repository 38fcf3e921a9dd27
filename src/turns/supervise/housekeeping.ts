import type { Clock } from "../../base/clock.ts";
import { leaseMs } from "../../log/lease.ts";
import type { StoreHousekeeping, TurnReading } from "../../log/store.ts";
import { renewEveryMs } from "./orphaned-turns.ts";

const sweepEveryMs = 60_000;

/**
 * Runs until the signal aborts: renews this process's lease, looks for turns to adopt (at once, then every three seconds), and erases
 * expired data. After a failure of the store it tries again the next time.
 */
export async function keepHouse(
  options: {
    readonly store: TurnReading & StoreHousekeeping;
    readonly owner: string;
    readonly clock: Clock;
    readonly adoptOrphanedTurns: () => Promise<void>;
    readonly onProblem: (error: unknown) => void;
  },
  signal: AbortSignal,
): Promise<void> {
  const { store, owner, clock, adoptOrphanedTurns, onProblem } = options;
  let sweptAtMs = -Infinity;
  while (!signal.aborted) {
    try {
      if (store.capabilities.survivesRestart) {
        await store.renewOwner(owner, clock.now() + leaseMs);
        await adoptOrphanedTurns();
      }
      if (clock.monotonic() - sweptAtMs >= sweepEveryMs) {
        sweptAtMs = clock.monotonic();
        await store.sweep(clock.now());
      }
    } catch (error) {
      onProblem(error);
    }
    try {
      await clock.sleep(renewEveryMs, signal);
    } catch {
      return; // stopped while asleep
    }
  }
}
