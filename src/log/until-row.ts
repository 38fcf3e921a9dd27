import { bestEffort, notNeeded } from "../base/async.ts";
import type { Row, Rows } from "./rows.ts";

/** Resolves with the row once that holds of it, at once if it does. Rejects with the signal's reason, and with the medium's errors. */
export async function untilRow(
  rows: Pick<Rows, "get" | "changed">,
  id: string,
  holds: (row: Row | undefined) => boolean,
  signal: AbortSignal,
): Promise<Row | undefined> {
  for (;;) {
    const first = await rows.get(id);
    if (holds(first)) return first;
    const looked = new AbortController();
    const changed = rows.changed(id, AbortSignal.any([signal, looked.signal])); // registered before it looks again
    void bestEffort(changed);
    try {
      const row = await rows.get(id);
      if (holds(row)) return row;
      await changed;
    } finally {
      looked.abort(notNeeded);
    }
  }
}
