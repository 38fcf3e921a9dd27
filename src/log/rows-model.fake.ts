import type { Entry, Op, Outcome, Row, RowFilter, RowKind } from "./rows.ts";

interface KeptRow {
  readonly row: Row;
  readonly head: Uint8Array;
  readonly entries: readonly Uint8Array[];
}

/** What `Rows` must do, as plainly as it can be said: a map, copied before each commit. */
export class RowsModel {
  #kept: ReadonlyMap<string, KeptRow> = new Map();

  commit(ops: readonly Op[]): Outcome {
    const next = new Map(this.#kept);
    for (const [at, op] of ops.entries()) {
      const inTheWay = change(next, op);
      if (inTheWay !== undefined) return { type: "refused", at, by: this.get(inTheWay) };
    }
    this.#kept = next;
    return { type: "done" };
  }

  get(id: string): Row | undefined {
    return this.#kept.get(id)?.row;
  }

  head(id: string): Uint8Array | undefined {
    return this.#kept.get(id)?.head;
  }

  entries(id: string): readonly Entry[] {
    return (this.#kept.get(id)?.entries ?? []).map((bytes, i) => ({ seq: i + 1, bytes }));
  }

  find({ kind, tag, open, expiredAtMs, limit }: RowFilter): readonly Row[] {
    return [...this.#kept.values()]
      .map(({ row }) => row)
      .filter((row) => row.kind === kind && (tag === undefined || row.tags.includes(tag)))
      .filter((row) => open === undefined || row.open === open)
      .filter((row) => expiredAtMs === undefined || (row.expiresAtMs ?? Infinity) <= expiredAtMs)
      .sort((a, b) =>
        expiredAtMs === undefined ? b.createdAtMs - a.createdAtMs : (a.expiresAtMs ?? 0) - (b.expiresAtMs ?? 0),
      )
      .slice(0, limit);
  }

  sweep(nowMs: number, kinds: readonly RowKind[]): number {
    const expired = [...this.#kept.values()].filter(
      ({ row }) => kinds.includes(row.kind) && (row.expiresAtMs ?? Infinity) <= nowMs,
    );
    this.#kept = new Map([...this.#kept].filter(([, kept]) => !expired.includes(kept)));
    return expired.length;
  }
}

/** Returns the id of the row that stands in the way, if the operation does not hold. */
function change(all: Map<string, KeptRow>, op: Op): string | undefined {
  if (op.type === "insert") {
    const keys = op.row.tags.filter((tag) => tag.startsWith("key:"));
    const holder = [...all.values()].find(({ row }) => keys.some((key) => row.tags.includes(key)));
    if (holder !== undefined) return holder.row.id;
    if (all.has(op.row.id)) return op.row.id;
    all.set(op.row.id, { row: op.row, head: op.head, entries: [] });
    return undefined;
  }
  const kept = all.get(op.id);
  if (op.type === "remove" && op.guard === undefined) {
    all.delete(op.id);
    return undefined;
  }
  const guard = Object.entries(op.guard ?? {}) as ["epoch" | "last" | "open", unknown][]; // the members of a guard
  if (kept === undefined || guard.some(([name, value]) => kept.row[name] !== value)) return op.id;
  if (op.type === "remove") {
    all.delete(op.id);
    return undefined;
  }
  const { set = {}, entries = [] } = op;
  const { row } = kept;
  all.set(op.id, {
    ...kept,
    row: {
      ...row,
      owner: set.owner ?? row.owner,
      open: set.open ?? row.open,
      expiresAtMs: set.expiresAtMs === null ? undefined : (set.expiresAtMs ?? row.expiresAtMs),
      proof: set.proof ?? row.proof,
      meta: Object.fromEntries(Object.entries({ ...row.meta, ...set.meta }).filter(([, value]) => value !== null)),
      epoch: row.epoch + (op.claim === true ? 1 : 0),
      last: row.last + entries.length,
    },
    entries: [...kept.entries, ...entries],
  });
  return undefined;
}
