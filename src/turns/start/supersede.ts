import type { TurnId } from "../../base/ids.ts";
import type { LogStore, TurnRecord } from "../../log/store.ts";

export interface SupersedeOptions {
  readonly store: Pick<LogStore, "list">;
  readonly isAttended: (record: TurnRecord) => boolean;
  readonly cancel: (turnId: TurnId) => Promise<void>;
}

const mostLeftBehind = 64;

/**
 * The client asked something else in the same session: what it left behind is ended, unless it was to go on to its end. Call it
 * only once its own turn is stored: a request that is refused, or that joins a turn, leaves nothing behind.
 */
export async function supersede(
  { turnId, createdAtMs, caller, session }: TurnRecord,
  { store, isAttended, cancel }: SupersedeOptions,
): Promise<void> {
  if (session === undefined) return;
  for (const record of await store.list({ caller, session, open: true, limit: mostLeftBehind })) {
    if (record.turnId === turnId || record.createdAtMs > createdAtMs) continue;
    if (record.graceMs === Infinity || isAttended(record)) continue;
    await cancel(record.turnId);
  }
}
