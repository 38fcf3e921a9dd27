import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnReading } from "../../log/store.ts";

/** How often a reader says that it is there, so that the process that runs the turn elsewhere knows; ms. */
export const noteEveryMs = 5_000;

/** Says that a reader is there until the signal aborts. Never rejects: a store that fails costs the turn its grace only. */
export async function noteWhileReading(
  store: Pick<TurnReading, "noteReader">,
  turnId: TurnId,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await clock.sleep(noteEveryMs, signal);
    } catch {
      return; // the reader left
    }
    await bestEffort(store.noteReader(turnId, clock.now()));
  }
}
