import type { Clock } from "../base/clock.ts";
import { isDegraded } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import type { CancelledBy } from "./event.ts";
import { type Op, type Row, type Rows, untilRow } from "./rows.ts";
import { noTag } from "./sealing/sealer.ts";

/** The lease of a process in the log; ms. After it others may take over its turns. */
export const leaseMs = 10_000;

/** How far the clocks of processes that share a store may be apart; ms. */
export const skewMs = 10_000;

/** What a process leaves in the lease of the process that runs a turn. */
export interface CancelMessage {
  readonly turnId: TurnId;
  readonly by: CancelledBy;
}

/**
 * Follows the lease of a process until the signal aborts: its entries are what other processes ask of the turns of that process. While
 * the store fails, nothing is heard, and the store is asked again every second.
 */
export async function followLease(
  rowsNow: () => Rows,
  {
    owner,
    onCancel,
    clock,
  }: {
    readonly owner: string;
    readonly onCancel: (message: CancelMessage) => void;
    readonly clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> {
  const id = leaseId(owner);
  let heard = 0;
  while (!signal.aborted) {
    try {
      const rows = rowsNow();
      await untilRow(rows, id, (row) => row !== undefined && row.last > heard, signal);
      for (const { seq, bytes } of await rows.entries(id, heard, { count: 64, bytes: 64 * 1024 })) {
        onCancel(JSON.parse(new TextDecoder().decode(bytes)) as CancelMessage); // written by messageTo
        heard = seq;
      }
    } catch (error) {
      if (!isDegraded(error)) throw error;
      await clock.sleep(1_000, signal);
    }
  }
}

/** Says until when this process lives; epoch ms. */
export async function renewLease(rows: Rows, owner: string, aliveUntilMs: number): Promise<void> {
  const outcome = await rows.commit(
    [{ type: "update", id: leaseId(owner), set: { expiresAtMs: aliveUntilMs } }],
    false,
  );
  if (outcome.type === "refused") await rows.commit([newLease(owner, aliveUntilMs)], false);
}

/** Until when each process lives, by its last word; epoch ms. */
export async function leases(rows: Rows): Promise<ReadonlyMap<string, number>> {
  const found = await rows.find({ kind: "lease", limit: Number.MAX_SAFE_INTEGER });
  return new Map(found.map(({ owner, expiresAtMs = 0 }) => [owner, expiresAtMs]));
}

/** What has to be written so that a process finds the message in its lease. */
export async function messageTo(
  rows: Rows,
  owner: string,
  message: CancelMessage,
  nowMs: number,
): Promise<readonly Op[]> {
  const id = leaseId(owner);
  const isThere = (await rows.get(id)) !== undefined;
  const entry: Op = { type: "update", id, entries: [new TextEncoder().encode(JSON.stringify(message))] };
  return isThere ? [entry] : [newLease(owner, nowMs), entry];
}

/** The id of the row in which a process says until when it lives, and in which others leave it their cancel requests. */
function leaseId(owner: string): string {
  return `lease:${owner}`;
}

function newLease(owner: string, expiresAtMs: number): Op {
  const row: Row = {
    id: leaseId(owner),
    kind: "lease",
    createdAtMs: 0,
    epoch: 1,
    last: 0,
    open: true,
    owner,
    expiresAtMs,
    tags: [],
    meta: {},
    proof: noTag,
  };
  return { type: "insert", row, head: new Uint8Array(0) };
}
