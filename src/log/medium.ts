import type { Clock } from "../base/clock.ts";
import { isDegraded } from "../base/errors.ts";
import type { Secret } from "../base/secret.ts";
import { apartOf, type Op, type Row, type Rows, removal } from "./rows.ts";
import { noTag, Sealer } from "./sealing/sealer.ts";
import type { Retention } from "./store.ts";

/** What the row of a tombstone, and one with parts, leaves empty. */
export const emptyRow = { createdAtMs: 0, epoch: 1, last: 0, open: false, owner: "", tags: [], meta: {}, proof: noTag };

/** How many rows a sweep expires at a time. */
const sweptAtOnce = 64;

/** Where logs are stored, what seals them, and how long they are kept: a row that has expired leaves a tombstone, which goes after its own time. */
export class Medium {
  readonly rows: Rows;
  readonly sealer: Sealer;
  readonly clock: Pick<Clock, "now">;
  readonly retention: Retention;

  constructor(
    { rows, gatewayKey }: { readonly rows: Rows; readonly gatewayKey: Secret },
    { clock, retention }: Pick<Medium, "clock" | "retention">,
  ) {
    this.rows = rows;
    this.sealer = new Sealer(gatewayKey);
    this.clock = rows.shared ?? clock;
    this.retention = retention;
  }

  /** Writes, and leaves nothing: whether the medium takes writes. Throws `degraded`. */
  async probe(): Promise<void> {
    const row: Row = { ...emptyRow, id: "probe", kind: "tombstone", expiresAtMs: this.clock.now() };
    const insert: Op = { type: "insert", row, head: new Uint8Array(0) };
    await this.rows.commit([{ type: "remove", id: row.id }, insert, { type: "remove", id: row.id }], true);
  }

  /** Leaves a tombstone of each turn and stream that has expired, and removes old tombstones, and parts of no row. */
  async sweep(): Promise<void> {
    const nowMs = this.clock.now();
    for (const kind of ["turn", "stream", "parts"] as const) {
      const look = () => this.rows.find({ kind, expiredAtMs: nowMs, limit: sweptAtOnce });
      for (let found = await look(); found.length > 0; found = await look()) {
        // one by one: all may have many MB
        for (const row of found) await (kind === "parts" ? this.#sweepParts(row, nowMs) : this.#bury(row, nowMs));
      }
    }
    while ((await this.rows.sweep(nowMs, ["tombstone"])) > 0) continue;
  }

  /** Whether the row may no longer be shown. Seen expired once, it stays so: a clock that goes back cannot bring it to life. */
  async hasExpired(row: Row): Promise<boolean> {
    if (row.kind === "tombstone") return true;
    const nowMs = this.clock.now();
    if (row.expiresAtMs === undefined || row.expiresAtMs > nowMs) return false;
    try {
      await this.#bury(row, nowMs);
    } catch (error) {
      if (!isDegraded(error)) throw error; // a log that can only be read erases later; the row is refused all the same
    }
    return true;
  }

  async #sweepParts({ id }: Row, nowMs: number): Promise<void> {
    const owner = await this.rows.get(id.slice(id.indexOf(":") + 1));
    const set = { expiresAtMs: nowMs + this.retention.keptMs };
    const isUsed = owner !== undefined && apartOf(owner).includes(id);
    await this.rows.commit([isUsed ? { type: "update", id, set } : { type: "remove", id }], false);
  }

  async #bury(row: Row, nowMs: number): Promise<void> {
    const { id, tags, meta, epoch, createdAtMs } = row;
    const tombstone: Row = {
      ...emptyRow,
      id,
      kind: "tombstone",
      createdAtMs,
      epoch,
      expiresAtMs: nowMs + this.retention.tombstoneMs,
      tags: tags.filter((tag) => tag.startsWith("key:")),
      meta: { caller: meta["caller"] },
    };
    const insert: Op = { type: "insert", row: tombstone, head: new Uint8Array(0) };
    await this.rows.commit([...removal(row), insert], false);
  }
}
