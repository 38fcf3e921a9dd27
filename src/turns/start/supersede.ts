import type { TurnId } from "../../base/ids.ts";
import type { TurnReading, TurnRecord } from "../../log/store.ts";

export interface SupersedeOptions {
  readonly store: Pick<TurnReading, "list">;
  readonly hasReader: (record: TurnRecord) => boolean;
  readonly cancel: (turnId: TurnId) => Promise<void>;
}

const mostSuperseded = 64;

/**
 * Cancels the earlier turns of a session whose client has asked something else, unless they have a reader or run to their end.
 * Call it once the new turn is stored: a request that is refused, or that joins a turn, supersedes nothing.
 */
export async function supersede(
  { turnId, createdAtMs, caller, session }: TurnRecord,
  { store, hasReader, cancel }: SupersedeOptions,
): Promise<void> {
  if (session === undefined) return;
  for (const record of await store.list({ caller, session, open: true, limit: mostSuperseded })) {
    if (record.turnId === turnId || record.createdAtMs > createdAtMs) continue;
    if (record.graceMs === Infinity || hasReader(record)) continue;
    await cancel(record.turnId);
  }
}
