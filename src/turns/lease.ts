import { bestEffort, orAborted } from "../base/async.ts";
import type { TurnId } from "../base/ids.ts";
import { leaseMs } from "../log/lease.ts";
import type { TurnsOptions } from "./options.ts";

/** How often a process renews its lease; ms. */
const renewEveryMs = 3_000;
const sweepEveryMs = 60_000;

/**
 * Runs until the signal aborts: renews this process's lease, looks for turns to adopt (at once, then every three seconds), and erases
 * expired data. After a failure of the store it tries again the next time. A look or a sweep that takes long holds up no renewal.
 */
export async function keepHouse(
  { store, owner, clock }: Pick<TurnsOptions, "store" | "owner" | "clock">,
  adopt: () => Promise<void>,
  onProblem: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  let sweptAtMs = -Infinity;
  let adopting: Promise<void> | undefined;
  let sweeping: Promise<void> | undefined;
  while (!signal.aborted) {
    try {
      if (store.capabilities.survivesRestart) {
        await store.renewOwner(owner, clock.now() + leaseMs);
        adopting ??= bestEffort(adopt(), onProblem).finally(() => {
          adopting = undefined;
        });
      }
      if (sweeping === undefined && clock.monotonic() - sweptAtMs >= sweepEveryMs) {
        sweptAtMs = clock.monotonic();
        sweeping = bestEffort(store.sweep(clock.now()), onProblem).finally(() => {
          sweeping = undefined;
        });
      }
    } catch (error) {
      onProblem(error);
    }
    await bestEffort(clock.sleep(renewEveryMs, signal)); // an abort ends it
  }
  await Promise.all([adopting, sweeping]);
}

/** `letGo`: the turn belongs to another process now, or its owner cannot be found out. Its runner stops without writing an end. */
type PromptCheck = Pick<TurnsOptions, "store" | "owner" | "clock"> & { readonly letGo: () => void };

/**
 * The check before a prompt is sent, for a store that other machines write. This process may have been paused since it stored
 * the turn, or the store may be unreachable. In that time another process may have taken the turn over and sent the prompt.
 * An answer of the store that took longer than half a lease proves nothing, so the store is asked again.
 */
export async function checkBeforePrompt(
  turnId: TurnId,
  { store, owner, clock, letGo }: PromptCheck,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const [since, sinceMonotonic] = [clock.now(), clock.monotonic()];
    if (!(await store.holdsTurn(turnId, owner, since + leaseMs))) break;
    const tookMs = Math.max(clock.now() - since, clock.monotonic() - sinceMonotonic);
    if (tookMs < leaseMs / 2) return;
  }
  letGo();
  await orAborted(new Promise<never>(() => {}), signal);
}
