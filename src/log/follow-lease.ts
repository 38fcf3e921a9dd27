import type { Clock } from "../base/clock.ts";
import { isDegraded } from "../base/errors.ts";
import type { Rows } from "./rows.ts";
import { type CancelMessage, leaseId } from "./turn-log.ts";
import { untilRow } from "./until-row.ts";

interface LeaseReader {
  readonly owner: string;
  readonly ask: (message: CancelMessage) => void;
  readonly clock: Clock;
}

/**
 * Follows the lease of a process until the signal aborts: its entries are what other processes ask of the turns of that process. While
 * the store fails, nothing is heard, and the store is asked again every second.
 */
export async function followLease(
  rowsNow: () => Rows,
  { owner, ask, clock }: LeaseReader,
  signal: AbortSignal,
): Promise<void> {
  const id = leaseId(owner);
  let heard = 0;
  while (!signal.aborted) {
    try {
      const rows = rowsNow();
      await untilRow(rows, id, (row) => row !== undefined && row.last > heard, signal);
      for (const { seq, bytes } of await rows.entries(id, heard, { count: 64, bytes: 64 * 1024 })) {
        ask(JSON.parse(new TextDecoder().decode(bytes)) as CancelMessage); // written by TurnLog
        heard = seq;
      }
    } catch (error) {
      if (!isDegraded(error)) throw error;
      await clock.sleep(1_000, signal);
    }
  }
}
