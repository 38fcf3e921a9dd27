import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  type Entry,
  type Op,
  type Outcome,
  type PageLimit,
  parsedOr,
  type Row,
  type RowChange,
  type RowFilter,
  type RowKind,
} from "../rows.ts";

type Columns = Readonly<Record<string, SQLOutputValue>>;
type Update = Op & { readonly type: "update" };
type Insert = Op & { readonly type: "insert" };

/** How many rows one sweep removes, and how many entries and bytes one of its transactions deletes: a moment's work. */
const rowsAtOnce = 64;
const entriesAtOnce = 512;
const bytesAtOnce = 1 << 20;

/** The parts of an UPDATE, by the letters that `#update` collects. */
const updateParts: Readonly<Record<string, string>> = {
  c: "epoch = epoch + 1",
  w: "owner = ?",
  o: "open = ?",
  x: "expires_at_ms = ?",
  m: "meta = ?",
  p: "proof = ?",
  E: "epoch = ?",
  L: "last = ?",
  O: "open = ?",
};

const insertRow = `INSERT INTO logs (id, kind, created_at_ms, epoch, last, open, owner, expires_at_ms, tags, meta, proof)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`;
/** Takes how many entries follow it. Measured: a fifth less than an UPDATE that returns the row's number. */
const insertEntry = "INSERT INTO entries (n, seq, bytes) SELECT n, last - ?, ? FROM logs WHERE id = ?";

/** The statements of rows, over the tables of `open-file.ts`. Each call runs at once, and throws SQLite's errors. */
export class RowStatements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #updates = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get(id: string, withHead: boolean): Row | undefined {
    const sql = withHead
      ? "SELECT logs.*, head FROM logs JOIN heads USING (n) WHERE id = ?"
      : "SELECT * FROM logs WHERE id = ?";
    return rowOf(this.#one(sql, id));
  }

  /** The numbers of the rows: to read ten thousand rows takes half a second. */
  find({ kind, tag, open, expiredAtMs, limit }: RowFilter): readonly number[] {
    const where = ["kind = ?"];
    const values: SQLInputValue[] = [kind];
    const narrow = (condition: string, value: SQLInputValue | undefined) => {
      if (value === undefined) return;
      where.push(condition);
      values.push(value);
    };
    if (open !== undefined) where.push(`open = ${Number(open)}`); // as the index has it
    narrow("tag = ?", tag);
    narrow("expires_at_ms <= ?", expiredAtMs);
    const sql = `SELECT logs.n FROM ${sourceOf(tag, open, expiredAtMs)} WHERE ${where.join(" AND ")}`;
    const newestFirst = `${tag === undefined ? "logs" : "tags"}.created_at_ms DESC, n DESC`;
    const order = expiredAtMs === undefined ? newestFirst : "expires_at_ms, n";
    return this.#all(`${sql} ORDER BY ${order} LIMIT ?`, ...values, limit).map(({ n }) => Number(n));
  }

  numbered(n: number): Row | undefined {
    return rowOf(this.#one("SELECT * FROM logs WHERE n = ?", n));
  }

  entries(id: string, after: number, most: PageLimit): readonly Entry[] {
    const sql =
      "SELECT seq, bytes FROM entries WHERE n = (SELECT n FROM logs WHERE id = ?) AND seq > ? ORDER BY seq LIMIT ?";
    const page: Entry[] = [];
    let room = most.bytes;
    for (const columns of this.#statement(sql).iterate(id, after, most.count)) {
      const { seq, bytes } = columns as { seq: number; bytes: Uint8Array }; // as the table has them
      room -= bytes.length;
      if (page.length > 0 && room < 0) break;
      page.push({ seq, bytes });
    }
    return page;
  }

  /** Inside a transaction. A refused commit leaves nothing behind. */
  apply(ops: readonly Op[]): Outcome {
    if (ops.length > 1) this.#run("SAVEPOINT one");
    for (const [at, op] of ops.entries()) {
      const inTheWay = this.#do(op);
      if (inTheWay === undefined) continue;
      if (ops.length > 1) this.#run("ROLLBACK TO one");
      return { type: "refused", at, by: rowOf(this.#one("SELECT * FROM logs WHERE id = ?", inTheWay)) };
    }
    if (ops.length > 1) this.#run("RELEASE one");
    return { type: "done" };
  }

  /** Returns the id of the row that stands in the way, if it is refused. Nothing was written for it then. */
  #do(op: Op): string | undefined {
    if (op.type === "insert") return this.#insert(op);
    if (op.type === "update") return this.#update(op);
    const columns = this.#one("SELECT * FROM logs WHERE id = ?", op.id);
    const row = rowOf(columns);
    const { epoch = row?.epoch, last = row?.last, open = row?.open } = op.guard ?? {};
    if (row === undefined || columns === undefined) return op.guard === undefined ? undefined : op.id;
    if (epoch !== row.epoch || last !== row.last || open !== row.open) return op.id;
    this.#remove(columns);
    return undefined;
  }

  #insert({ row, head }: Insert): string | undefined {
    const { id, kind, createdAtMs, epoch, last, open, owner, expiresAtMs, tags, meta, proof } = row;
    for (const tag of tags) {
      if (!tag.startsWith("key:")) continue;
      const held = this.#one("SELECT id FROM tags JOIN logs USING (n) WHERE tag = ?", tag);
      if (held !== undefined) return String(held["id"]);
    }
    const numbers = [createdAtMs, epoch, last, Number(open)];
    const texts = [JSON.stringify(tags), JSON.stringify(meta)];
    const result = this.#run(insertRow, id, kind, ...numbers, owner, expiresAtMs ?? null, ...texts, proof);
    if (result.changes === 0) return id;
    const n = result.lastInsertRowid;
    this.#run("INSERT INTO heads (n, head) VALUES (?, ?)", n, head);
    for (const tag of new Set(tags))
      this.#run("INSERT INTO tags (tag, created_at_ms, n) VALUES (?, ?, ?)", tag, createdAtMs, n);
    return undefined;
  }

  #update({ id, guard = {}, claim, set = {}, entries = [] }: Update): string | undefined {
    const meta = set.meta && this.#mergedMeta(id, set.meta);
    let shape = "";
    const values: SQLInputValue[] = [entries.length];
    const part = (letter: string, value: SQLInputValue | boolean | undefined) => {
      if (value === undefined) return;
      shape += letter;
      values.push(typeof value === "boolean" ? Number(value) : value);
    };
    if (claim === true) shape += "c";
    part("w", set.owner);
    part("o", set.open);
    part("x", set.expiresAtMs);
    part("m", meta);
    part("p", set.proof);
    values.push(id);
    part("E", guard.epoch);
    part("L", guard.last);
    part("O", guard.open);
    let statement = this.#updates.get(shape);
    if (statement === undefined) this.#updates.set(shape, (statement = this.#database.prepare(updateSql(shape))));
    if (statement.run(...values).changes === 0) return id;
    for (let i = 1; i <= entries.length; i++) this.#run(insertEntry, entries.length - i, entries[i - 1] ?? null, id);
    return undefined;
  }

  #mergedMeta(id: string, change: NonNullable<RowChange["meta"]>): string {
    const held = this.#one("SELECT meta FROM logs WHERE id = ?", id)?.["meta"];
    const merged = Object.entries({ ...parsedOr<Row["meta"]>(held, {}), ...change });
    return JSON.stringify(Object.fromEntries(merged.filter(([, value]) => value !== null)));
  }

  /** The row at once, and its entries with the next sweep: there may be thousands. */
  #remove(columns: Columns): void {
    const { n, created_at_ms: createdAtMs, tags } = columns as Columns & { n: number; created_at_ms: number };
    for (const tag of parsedOr<string[]>(tags, []))
      this.#run("DELETE FROM tags WHERE tag = ? AND created_at_ms = ? AND n = ?", tag, createdAtMs, n);
    this.#run("DELETE FROM heads WHERE n = ?", n);
    this.#run("DELETE FROM logs WHERE n = ?", n);
    if (columns["last"] !== 0) this.#run("INSERT INTO leftovers (n) VALUES (?)", n);
  }

  /** Whether there are more. */
  deleteLeftovers(): boolean {
    const sql = "SELECT seq, length(bytes) AS size FROM entries WHERE n = ? LIMIT ?";
    let room = entriesAtOnce;
    let bytes = bytesAtOnce;
    for (const { n = null } of this.#all(`SELECT n FROM leftovers LIMIT ${rowsAtOnce}`)) {
      for (const { seq = null, size } of this.#all(sql, n, room)) {
        this.#run("DELETE FROM entries WHERE n = ? AND seq = ?", n, seq);
        room--;
        bytes -= Number(size);
        if (room === 0 || bytes < 0) return true;
      }
      this.#run("DELETE FROM leftovers WHERE n = ?", n);
    }
    return room < entriesAtOnce;
  }

  /** Inside a transaction: removes a part of the rows that have expired, and returns their ids. */
  removeExpired(nowMs: number, kinds: readonly RowKind[]): readonly string[] {
    const sql = `SELECT n, id, created_at_ms, last, tags FROM logs
      WHERE kind IN (SELECT value FROM json_each(?)) AND expires_at_ms <= ? LIMIT ${rowsAtOnce}`;
    const rows = this.#all(sql, JSON.stringify(kinds), nowMs);
    for (const columns of rows) this.#remove(columns);
    return rows.map(({ id }) => String(id));
  }

  #run(sql: string, ...values: SQLInputValue[]) {
    return this.#statement(sql).run(...values);
  }

  #one(sql: string, ...values: SQLInputValue[]): Columns | undefined {
    return this.#statement(sql).get(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]): readonly Columns[] {
    return this.#statement(sql).all(...values);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) this.#prepared.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }
}

/** Where a find begins. Left alone, SQLite's planner would look at every row of the kind. */
function sourceOf(tag: string | undefined, open: boolean | undefined, expiredAtMs: number | undefined): string {
  if (tag !== undefined) return "tags CROSS JOIN logs USING (n)";
  if (expiredAtMs !== undefined) return "logs INDEXED BY expiring_logs";
  return open === true ? "logs INDEXED BY open_logs" : "logs";
}

function updateSql(shape: string): string {
  const parts = (letters: RegExp) => (shape.match(letters) ?? []).map((letter) => updateParts[letter] ?? "");
  const set = ["last = last + ?", ...parts(/[a-z]/g)].join(", ");
  return `UPDATE logs SET ${set} WHERE ${["id = ?", ...parts(/[A-Z]/g)].join(" AND ")}`;
}

/** A row of `logs` as it was stored. */
function rowOf(columns: Columns | undefined): Row | undefined {
  if (columns === undefined) return undefined;
  const { expires_at_ms: expiresAtMs, proof, head } = columns;
  return {
    id: String(columns["id"]),
    kind: columns["kind"] as RowKind, // stored from this union
    createdAtMs: Number(columns["created_at_ms"]),
    epoch: Number(columns["epoch"]),
    last: Number(columns["last"]),
    open: columns["open"] === 1,
    owner: String(columns["owner"]),
    expiresAtMs: expiresAtMs === null ? undefined : Number(expiresAtMs),
    tags: parsedOr<string[]>(columns["tags"], []),
    meta: parsedOr<Row["meta"]>(columns["meta"], {}),
    proof: proof as Uint8Array, // the column's type
    ...(head instanceof Uint8Array ? { head } : {}),
  };
}
