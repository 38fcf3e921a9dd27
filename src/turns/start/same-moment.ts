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

/** How far apart two gateways may take the same request and still count it as one, with what their clocks differ; ms. */
const sameMomentMs = 2_000;
const lookElsewhereMs = 20;
const othersLookedAt = 8;

/**
 * The same request without a key that another gateway on this log took in the same moment; undefined where there is none. Both
 * store theirs before they look, so at least one sees the other. The older id goes on, unless the other one has begun: then this
 * one waits no more.
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
