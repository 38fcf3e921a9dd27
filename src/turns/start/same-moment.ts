import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import type { Created, TurnReading, TurnRecord } from "../../log/store.ts";

export interface SameMomentOptions {
  readonly store: TurnReading;
  readonly clock: Clock;
  /** Names this process among those that share the store. */
  readonly owner: string;
  readonly implicitJoins: boolean;
  readonly ownerIsGone: (owner: string) => boolean;
  readonly hasReaderHere: (turnId: TurnId) => boolean;
  readonly stopping: AbortSignal;
}

/** The largest time between two gateways' receipts of the same request that still counts as one, differences of their clocks included; ms. */
const sameMomentMs = 2_000;
const lookElsewhereMs = 20;
const othersLookedAt = 8;

/**
 * The same request without a key that another gateway on this log took in the same moment; undefined if there is none. Both gateways
 * store theirs before they look, so at least one sees the other. The older id continues. If the other turn has already begun, this one
 * waits no more.
 */
export async function begunElsewhere(
  { record: own, writer }: Created,
  options: SameMomentOptions,
): Promise<TurnRecord | undefined> {
  const { store, clock, implicitJoins, stopping } = options;
  const isShared = store.capabilities.sharedBetweenProcesses;
  if (writer === undefined || !isShared || !implicitJoins || own.idempotencyKey !== undefined) return undefined;
  const untilMs = clock.monotonic() + sameMomentMs;
  for (;;) {
    const others = await sameElsewhere(own, options);
    const first = others.find(({ turnId, lastEventId }) => turnId < own.turnId || lastEventId !== startOfLog);
    if (first !== undefined || others.length === 0 || clock.monotonic() >= untilMs) return first;
    await bestEffort(clock.sleep(lookElsewhereMs, stopping)); // it begins, or sees this one and withdraws
    if (stopping.aborted) return undefined;
  }
}

async function sameElsewhere(
  { caller, fingerprint, session, createdAtMs }: TurnRecord,
  { store, owner, ownerIsGone, hasReaderHere }: SameMomentOptions,
): Promise<readonly TurnRecord[]> {
  const open = await store.list({ caller, fingerprint, open: true, exceptOwner: owner, limit: othersLookedAt });
  return open.filter((other) => {
    if (other.session !== session || other.idempotencyKey !== undefined) return false;
    if (other.createdAtMs + sameMomentMs < createdAtMs || other.cancelRequested !== undefined) return false;
    return !ownerIsGone(other.owner) && !hasReaderHere(other.turnId);
  });
}
