import { realpathSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../base/errors.ts";
import { loadSqlite } from "../base/node/load-sqlite.ts";
import { unhurried } from "../base/node/unhurried.ts";
import { Waiters } from "../base/notifier.ts";
import type { Entry, Op, Outcome, PageLimit, Row, RowFilter, RowKind, Rows, RowsAbilities } from "./rows.ts";
import { giveBackFreePages, identityOf, openFile, type SqliteFileOptions } from "./sqlite/open-file.ts";
import { RowStatements } from "./sqlite/row-statements.ts";
import { WriteQueue } from "./sqlite/write-queue.ts";

/** How often to check, between writes that are flushed, that the file is still in its place; ms. */
const checkFileEveryMs = 1_000;

/**
 * Opens rows in a SQLite file (WAL), or in `:memory:`. Node's SQLite is loaded when this is called. A file has one gateway: another
 * connection is refused what it has no claim to, and wakes no caller here.
 *
 * @throws MillraceError `degraded` when the file cannot be used: unreadable, locked, of a newer version or another program.
 */
export async function openSqliteRows(options: SqliteFileOptions, sqlite = loadSqlite()): Promise<Rows> {
  return new SqliteRows(openFile(sqlite, options), options.path);
}

class SqliteRows implements Rows {
  readonly abilities: RowsAbilities;
  readonly #database: DatabaseSync;
  /** Undefined in memory. SQLite keeps its companions beside the file, and not beside a link to it. */
  readonly #path: string | undefined;
  readonly #queue: WriteQueue;
  readonly #statements: RowStatements;
  readonly #waiters = new Waiters<string>();
  readonly #identity: string | undefined;
  #walIdentity: string | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  /** Why nothing can be read or written any more. */
  #closed: MillraceError | undefined;
  /** Why nothing can be read or written until the file is back. */
  #gone: MillraceError | undefined;

  constructor(database: DatabaseSync, path: string) {
    const isFile = path !== ":memory:";
    this.#database = database;
    this.#path = isFile ? realpathSync(path) : undefined;
    this.#identity = this.#path && identityOf(this.#path);
    this.abilities = { survivesRestart: isFile, isShared: false };
    this.#statements = new RowStatements(database);
    this.#queue = new WriteQueue(database, (flush) => this.#check(flush));
  }

  commit(ops: readonly Op[], flush: boolean): Promise<Outcome> {
    const [first] = ops;
    const writer = first?.type === "update" ? first.id : undefined;
    return this.#write(flush, () => this.#apply(ops), writer);
  }

  async get(id: string, withHead = false): Promise<Row | undefined> {
    return this.#read(() => this.#statements.get(id, withHead));
  }

  async find(filter: RowFilter): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for await (const n of unhurried(this.#read(() => this.#statements.find(filter)))) {
      const row = this.#read(() => this.#statements.numbered(n));
      if (row !== undefined && (filter.open ?? row.open) === row.open) rows.push(row); // it may have changed meanwhile
    }
    return rows;
  }

  async entries(id: string, after: number, most: PageLimit): Promise<readonly Entry[]> {
    return this.#read(() => this.#statements.entries(id, after, most));
  }

  changed(id: string, signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(id, signal);
  }

  async sweep(nowMs: number, kinds: readonly RowKind[]): Promise<number> {
    const removed = await this.#write(false, () => this.#statements.removeExpired(nowMs, kinds));
    for (const id of removed) this.#waiters.wake(id);
    while (await this.#write(false, () => this.#statements.deleteLeftovers())) {
      // running turns write in between
    }
    return removed.length;
  }

  async close(): Promise<void> {
    this.#queue.drain();
    if (this.#closed !== undefined) return;
    this.#closed = new MillraceError("degraded", "The log is closed.");
    this.#waiters.wakeAll();
    if (this.#queue.isDamaged && this.#path !== undefined) return; // its WAL stays, so the next gateway checks every page
    giveBackFreePages(this.#database);
    this.#database.close();
  }

  #write<T>(flush: boolean, work: () => T, writer?: string): Promise<T> {
    const written = this.#queue.write(flush, work, writer);
    if (this.#path === undefined) this.#queue.drain(); // memory gains nothing by a group
    return written;
  }

  #apply(ops: readonly Op[]): Outcome {
    const outcome = this.#statements.apply(ops);
    // They look again after the whole transaction, because nothing in it is awaited. It may still be rolled back.
    if (outcome.type === "done") for (const op of ops) this.#waiters.wake(op.type === "insert" ? op.row.id : op.id);
    return outcome;
  }

  #read<T>(work: () => T): T {
    this.#check(false);
    return this.#queue.read(work);
  }

  /**
   * The system keeps a deleted file for as long as it is open: what is written to it would be lost without an error. A file that is back
   * at its place, as after its folder or its disk was away, is used again.
   */
  #check(flush: boolean): void {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#path === undefined) return;
    const nowMs = performance.now();
    if (!flush && this.#gone === undefined && nowMs - this.#checkedAtMs < checkFileEveryMs) return;
    this.#checkedAtMs = nowMs;
    const wal = identityOf(`${this.#path}-wal`);
    this.#walIdentity ??= wal; // SQLite makes it with the first transaction
    const isThere = identityOf(this.#path) === this.#identity && wal === this.#walIdentity;
    if (isThere) {
      this.#gone = undefined;
      return;
    }
    if (this.#gone === undefined) this.#waiters.wakeAll(); // they look again, and hear the same
    this.#gone ??= new MillraceError("degraded", `The log's file (${this.#path}) was deleted or replaced.`, {
      hint: "Restart the gateway: `millrace restart`. Until then answers flow from memory, and cannot be resumed after a crash.",
    });
    throw this.#gone;
  }
}
