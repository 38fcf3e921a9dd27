import { orAborted } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import { leaseMs } from "../../log/lease.ts";
import type { StoreHousekeeping } from "../../log/store.ts";

export interface BeforePromptOptions {
  readonly store: Pick<StoreHousekeeping, "holdsTurn">;
  readonly owner: string;
  readonly clock: Clock;
  /** The turn belongs to another process now, or its owner cannot be found out: its runner stops without writing an end. */
  readonly letGo: (turnId: TurnId) => void;
}

/**
 * The check before a prompt is sent, for a store that other machines write. This process may have been paused since it stored
 * the turn, or the store may be unreachable. In that time another process may have taken the turn over and sent the prompt.
 * An answer of the store that took longer than half a lease proves nothing, so the store is asked again.
 */
export async function checkBeforePrompt(
  turnId: TurnId,
  options: BeforePromptOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, owner, clock, letGo } = options;
  for (;;) {
    const [since, sinceMonotonic] = [clock.now(), clock.monotonic()];
    if (!(await store.holdsTurn(turnId, owner, since + leaseMs))) break;
    const tookMs = Math.max(clock.now() - since, clock.monotonic() - sinceMonotonic);
    if (tookMs < leaseMs / 2) return;
  }
  letGo(turnId);
  await orAborted(new Promise<never>(() => {}), signal);
}
