import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnReading } from "../../log/store.ts";

/** How often a reader renews its presence, so that the process that runs the turn elsewhere knows of it; ms. */
export const noteEveryMs = 5_000;

/** Renews a reader's presence until the signal aborts. Never rejects: if the store fails, the turn only loses grace time. */
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
