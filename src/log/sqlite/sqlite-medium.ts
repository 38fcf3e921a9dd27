import type { SQLInputValue, StatementSync } from "node:sqlite";
import type { Clock } from "../../base/clock.ts";
import type { TurnId } from "../../base/ids.ts";
import type { CancelledBy } from "../event.ts";
import type {
  AdmitOutcome,
  AppendRows,
  AttachAttempt,
  AttachedRow,
  HolderRow,
  LogMedium,
  Page,
  RowChange,
  RowFilter,
  SentRow,
  StreamRow,
  TurnRow,
} from "../medium/medium.ts";
import { type PageLimit, takePage } from "../medium/page-limit.ts";
import type { StoreCapabilities } from "../store.ts";
import { CommitPace } from "./commit-pace.ts";
import { GroupCommit } from "./group-commit.ts";
import type { KeptFile } from "./held-file.ts";
import { digestOfKey, digestOfMessage } from "./key-journal.ts";
import { type Ledger, logDamaged } from "./ledger.ts";
import { LockPatience } from "./lock-patience.ts";
import { eventRowsOf, selectTurns, turnColumns, turnNumber, turnRowOf, turnsQuery, turnValues } from "./rows.ts";
import { translateSqliteError } from "./sqlite-errors.ts";
import {
  admitMessage,
  attachStream,
  isTakenFrom,
  observeStream,
  type Statements,
  sweepStreams,
} from "./sqlite-streams.ts";
import { entomb, sweepTurns } from "./sqlite-sweep.ts";
import { WriteWatch } from "./write-watch.ts";

export interface SqliteMediumOptions {
  readonly file: KeptFile;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Digests of keys whose turns were lost to damage, if the file cannot be written. */
  readonly lostKeys?: ReadonlySet<string>;
}

/** How often to look for other processes' writes while a reader waits; ms. Our own writes wake readers at once. */
const readersLookEveryMs = 50;
/** The same for the running turns, which wait for another process to cancel them. Each look is a wake-up of an otherwise quiet process. */
const turnsLookEveryMs = 250;

/** The name under which callers wait for any cancel request. */
const cancels = "cancels";

/** How much longer than a tombstone a lost key is refused: as long as its turn may have been kept; ms. */
const lostKeyMs = 24 * 3_600_000;

// The text of a statement finds the prepared one. The texts that each turn and append need are made once: a new one would be hashed each time.
const moveOn = (others: string) => `UPDATE turns SET last_seq = ?, last_mac = ?, version = version + 1${others}
  WHERE turn_id = ? AND epoch = ? AND last_seq = ? AND outcome IS NULL`;
const appendSql = moveOn("");
const endSql = moveOn(", outcome = ?, ended_at_ms = ?, expires_at_ms = ?, wrapped_key = coalesce(?, wrapped_key)");
const insertTurnSql = `INSERT INTO turns (${turnColumns.join(", ")}) VALUES (${turnColumns.map(() => "?").join(", ")})`;
const insertHeaderSql = `INSERT INTO headers (turn, header) VALUES (${turnNumber}, ?)`;
const insertEventSql = `INSERT INTO events (turn, seq, epoch, kind, at_ms, payload, mac, outline)
  VALUES (${turnNumber}, ?, ?, ?, ?, ?, ?, ?)`;

/** How often to check between flushes that the file is still in its place; ms. */
const keepEveryMs = 100;

/**
 * Rows in one SQLite file, which several processes may share. These transactions are on the disk before they resolve: a claim, a
 * cancel, `started`, the end, and a new turn unless its caller flushes later. The deltas between survive a killed process, but not
 * a power cut; the chain of the remaining rows still holds then.
 * Longer than 300 lines: it has one method for each of the medium's calls, over one connection and its prepared statements.
 */
export class SqliteMedium implements LogMedium {
  readonly capabilities: StoreCapabilities = { survivesRestart: true, sharedBetweenProcesses: true };
  readonly #file: KeptFile;
  readonly #ledger: Ledger;
  readonly #lostHere: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #statements: Statements = {
    run: (sql, ...values) => this.#run(sql, ...values),
    one: (sql, ...values) => this.#one(sql, ...values),
    all: (sql, ...values) => this.#statement(sql).all(...values),
  };
  readonly #readers: WriteWatch;
  readonly #cancels: WriteWatch;
  readonly #patience: LockPatience;
  readonly #commits: GroupCommit;
  #keptAt = Number.NEGATIVE_INFINITY;

  constructor({ file, ledger, clock, lostKeys = new Set() }: SqliteMediumOptions) {
    this.#file = file;
    this.#ledger = ledger;
    this.#lostHere = lostKeys;
    const database = { exec: (sql: string) => file.database.exec(sql) };
    this.#patience = new LockPatience(database);
    const keep = (flush: boolean) => this.#keepFile(flush);
    this.#commits = new GroupCommit({
      database,
      statement: (sql) => this.#statement(sql),
      patience: this.#patience,
      pace: new CommitPace(() => clock.monotonic()),
      keep,
      count: () => this.#ledger.count(this.#statements),
    });
    this.#clock = clock;
    const dataVersion = () => this.#dataVersion();
    this.#readers = new WriteWatch({ clock, dataVersion, everyMs: readersLookEveryMs });
    this.#cancels = new WriteWatch({ clock, dataVersion, everyMs: turnsLookEveryMs });
  }

  async create(row: TurnRow, flush: boolean): Promise<{ row: TurnRow; created: boolean }> {
    const { turnId, caller, keyIndex, createdAtMs } = row;
    const digest = keyIndex === undefined ? undefined : digestOfKey(caller, keyIndex);
    const result = await this.#commits.write(flush, () => {
      const held =
        keyIndex === undefined
          ? undefined
          : this.#one(`${selectTurns} WHERE caller = ? AND key_index = ?`, caller, keyIndex);
      if (held !== undefined) return { row: turnRowOf(held), created: false };
      this.#refuseLost(digest);
      this.#insertTurn(row);
      return { row, created: true };
    });
    if (result.created && digest !== undefined) this.#ledger.created({ digest, turnId, createdAtMs });
    return result;
  }

  async claim(turnId: TurnId, owner: string): Promise<TurnRow | undefined> {
    const claimed = await this.#commits.write(true, () => {
      const sql = `UPDATE turns SET owner = ?, epoch = epoch + 1, version = version + 1
        WHERE turn_id = ? AND outcome IS NULL`;
      if (this.#run(sql, owner, turnId) === 0) return undefined;
      const row = this.#one(`${selectTurns} WHERE turns.turn_id = ?`, turnId);
      return row === undefined ? undefined : turnRowOf(row);
    });
    this.#readers.wake(turnId);
    return claimed;
  }

  async append(
    turnId: TurnId,
    { epoch, afterSeq, events, end }: AppendRows,
  ): Promise<"appended" | "fenced" | "ended" | "removed"> {
    const admits = end !== undefined || events.some(({ kind }) => kind === "started");
    const work = () => {
      const mac = events.at(-1)?.mac ?? new Uint8Array(0);
      const ending = end === undefined ? [] : [end.outcome, end.atMs, end.expiresAtMs, end.wrappedKey ?? null];
      const moved = this.#run(
        end === undefined ? appendSql : endSql,
        afterSeq + events.length,
        mac,
        ...ending,
        turnId,
        epoch,
        afterSeq,
      );
      if (moved === 0) return this.#whyNotAppended(turnId, epoch);
      for (const { seq, epoch: by, kind, atMs, payload, mac: tag, outline } of events)
        this.#run(insertEventSql, turnId, seq, by, kind, atMs, payload, tag, outline);
      return "appended";
    };
    const outcome = await this.#commits.write(admits, work, turnId);
    if (outcome === "appended") this.#readers.wake(turnId);
    return outcome;
  }

  async read(turnId: TurnId, afterSeq: number, limit: PageLimit): Promise<Page | undefined> {
    return this.#translated(() => {
      this.#statement("BEGIN").run();
      try {
        const row = this.#one("SELECT * FROM turns WHERE turn_id = ?", turnId);
        if (row === undefined) return undefined;
        const number = row["number"] ?? null;
        const previous = this.#one("SELECT mac FROM events WHERE turn = ? AND seq = ?", number, afterSeq);
        const sql = "SELECT * FROM events WHERE turn = ? AND seq > ? ORDER BY seq LIMIT ?";
        const taken = takePage(eventRowsOf(this.#statement(sql).iterate(number, afterSeq, limit.events)), limit);
        const mac = previous?.["mac"];
        return { row: turnRowOf(row), previousMac: mac instanceof Uint8Array ? mac : undefined, ...taken };
      } finally {
        this.#statement("COMMIT").run();
      }
    });
  }

  async untilChanged(turnId: TurnId, seenVersion: number, signal: AbortSignal): Promise<void> {
    const sql = "SELECT version FROM turns WHERE turn_id = ?";
    await this.#untilOther(turnId, () => this.#one(sql, turnId)?.["version"], seenVersion, signal);
  }

  async cancelRequests(): Promise<ReadonlyMap<TurnId, CancelledBy>> {
    const sql = "SELECT turn_id, cancel_requested FROM turns WHERE outcome IS NULL AND cancel_requested IS NOT NULL";
    const rows = this.#translated(() => this.#statement(sql).all()) as {
      turn_id: TurnId;
      cancel_requested: CancelledBy;
    }[]; // stored as such
    return new Map(rows.map((row) => [row.turn_id, row.cancel_requested]));
  }

  untilCancelRequested(signal: AbortSignal): Promise<void> {
    return this.#cancels.wait(cancels, signal);
  }

  async mark(
    turnId: TurnId,
    { attachedAtMs, longerGraceMs, expiresAtMs, delivered, cancelRequested }: RowChange,
    holder?: HolderRow,
  ): Promise<boolean> {
    const marked = await this.#commits.write(cancelRequested !== undefined || longerGraceMs !== undefined, () => {
      if (holder !== undefined && isTakenFrom(this.#statements, holder)) return false;
      if (attachedAtMs !== undefined)
        this.#run("UPDATE turns SET attached_at_ms = ? WHERE turn_id = ?", attachedAtMs, turnId);
      if (longerGraceMs !== undefined) {
        const sql = "UPDATE turns SET longer_grace_ms = max(longer_grace_ms, ?) WHERE turn_id = ?";
        this.#run(sql, longerGraceMs, turnId);
      }
      if (expiresAtMs !== undefined)
        this.#run("UPDATE turns SET expires_at_ms = ? WHERE turn_id = ?", expiresAtMs, turnId);
      if (delivered === true) this.#run("UPDATE turns SET delivered = 1 WHERE turn_id = ?", turnId);
      if (cancelRequested === undefined) return true;
      this.#run(
        `UPDATE turns SET cancel_requested = ?, version = version + 1
          WHERE turn_id = ? AND outcome IS NULL AND cancel_requested IS NULL`,
        cancelRequested,
        turnId,
      );
      return true;
    });
    if (cancelRequested === undefined) return marked;
    this.#readers.wake(turnId);
    this.#cancels.wake(cancels);
    return marked;
  }

  async get(turnId: TurnId): Promise<TurnRow | undefined> {
    const row = this.#translated(() => this.#one(`${selectTurns} WHERE turns.turn_id = ?`, turnId));
    return row === undefined ? undefined : turnRowOf(row);
  }

  async list(filter: RowFilter): Promise<readonly TurnRow[]> {
    const { exceptOwner, caller, matchIndex, keyIndex } = filter;
    return this.#translated(() => {
      if (caller !== undefined && matchIndex !== undefined && keyIndex === undefined) {
        // most bodies are new, and to find that out this way takes a tenth of the time
        const held = "SELECT 1 FROM turns WHERE caller = ? AND match_index = ? AND owner <> ? LIMIT 1";
        if (this.#one(held, caller, matchIndex, exceptOwner ?? "") === undefined) return [];
      }
      const { sql, values } = turnsQuery(filter);
      const rows = this.#statement(sql).all(...values);
      if (rows.length === 0 && caller !== undefined && keyIndex !== undefined)
        this.#refuseLost(digestOfKey(caller, keyIndex));
      return rows;
    }).map(turnRowOf);
  }

  async erase(turnId: TurnId, atMs: number): Promise<void> {
    await this.#commits.write(true, () => this.#erase(turnId, atMs));
    this.#readers.wake(turnId);
  }

  async remove(turnId: TurnId): Promise<void> {
    await this.#commits.write(true, () => {
      for (const table of ["events", "headers"]) this.#run(`DELETE FROM ${table} WHERE turn = ${turnNumber}`, turnId);
      this.#run("DELETE FROM turns WHERE turn_id = ?", turnId);
    });
    this.#ledger.removed(turnId);
    this.#readers.wake(turnId);
  }

  async attachStream(row: StreamRow, ask: AttachAttempt): Promise<AttachedRow> {
    const { streamId } = row;
    const { intent, nowMs } = ask;
    if (intent === "observe") return this.#translated(() => observeStream(this.#statements, streamId, nowMs));
    const attached = await this.#commits.write(true, () => attachStream(this.#statements, row, ask));
    this.#readers.wake(`stream:${streamId}`);
    return attached;
  }

  async admit(streamId: string, message: SentRow, turn: TurnRow | undefined): Promise<AdmitOutcome> {
    const digest = turn === undefined ? undefined : digestOfMessage(streamId, message.seqno);
    const admission = await this.#commits.write(true, () => {
      const admitted = admitMessage(this.#statements, streamId, { ...message, turnId: turn?.turnId });
      if (admitted !== "admitted" || turn === undefined) return admitted;
      this.#refuseLost(digest);
      this.#insertTurn(turn);
      return admitted;
    });
    if (admission === "admitted" && turn !== undefined && digest !== undefined)
      this.#ledger.created({ digest, turnId: turn.turnId, createdAtMs: turn.createdAtMs });
    return admission;
  }

  async untilReattached(streamId: string, epoch: number, signal: AbortSignal): Promise<void> {
    const sql = "SELECT epoch FROM streams WHERE stream_id = ?";
    const read = () => this.#one(sql, streamId)?.["epoch"];
    // any write of another connection wakes those who wait
    while (this.#translated(read) === epoch) await this.#untilOther(`stream:${streamId}`, read, epoch, signal);
  }

  async sweep(nowMs: number, tombstonesUpToMs: number): Promise<void> {
    const all = (sql: string, ...values: SQLInputValue[]) =>
      this.#translated(() => this.#statements.all(sql, ...values));
    const sweeping = {
      statements: { ...this.#statements, all },
      write: <T>(flush: boolean, work: () => T) => this.#commits.write(flush, work),
    };
    await sweepTurns(sweeping, nowMs, tombstonesUpToMs);
    await this.#commits.write(true, () => {
      sweepStreams(this.#statements, nowMs, tombstonesUpToMs);
      this.#run("DELETE FROM owners WHERE alive_until_ms <= ?", tombstonesUpToMs);
      this.#run("DELETE FROM lost_keys WHERE created_at_ms <= ?", tombstonesUpToMs - lostKeyMs);
    });
    await this.#ledger.sweep(this.#statements);
  }

  async renewOwner(owner: string, aliveUntilMs: number): Promise<void> {
    await this.#commits.write(false, () => {
      const sql = `INSERT INTO owners (owner, alive_until_ms) VALUES (?, ?)
        ON CONFLICT (owner) DO UPDATE SET alive_until_ms = excluded.alive_until_ms`;
      this.#run(sql, owner, aliveUntilMs);
    });
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    const rows = this.#translated(() => this.#statement("SELECT owner, alive_until_ms FROM owners").all());
    return new Map(rows.map((row) => [String(row["owner"]), Number(row["alive_until_ms"])]));
  }

  async close(): Promise<void> {
    await Promise.all([this.#readers.close(), this.#cancels.close()]);
    this.#commits.drain();
    this.#ledger.close();
    this.#file.close();
  }

  #whyNotAppended(turnId: TurnId, epoch: number): "fenced" | "ended" | "removed" {
    const row = this.#one("SELECT epoch, outcome FROM turns WHERE turn_id = ?", turnId);
    if (row === undefined) return "removed";
    return row["epoch"] === epoch && row["outcome"] !== null ? "ended" : "fenced";
  }

  /** It is unknown whether the prompt of such a turn was sent, so it is not sent again. */
  #refuseLost(digest: string | undefined): void {
    if (digest === undefined) return;
    const row = this.#one("SELECT turn_id FROM lost_keys WHERE digest = ?", digest);
    if (row !== undefined || this.#lostHere.has(digest)) throw logDamaged();
  }

  #insertTurn(row: TurnRow): void {
    this.#run(insertTurnSql, ...turnValues(row));
    this.#run(insertHeaderSql, row.turnId, row.header);
  }

  #erase(turnId: string, atMs: number): void {
    entomb(this.#statements, turnId, atMs);
    this.#run(`DELETE FROM events WHERE turn = ${turnNumber}`, turnId);
  }

  /** Before a write: whether the file had gone, and the connection is another one. */
  #keepFile(flush: boolean): boolean {
    const now = this.#clock.monotonic();
    if (!flush && now - this.#keptAt < keepEveryMs) return false; // a delta costs half as much as looking for the file
    this.#keptAt = now;
    const before = this.#file.database;
    try {
      if (!this.#file.keep()) return false;
    } finally {
      if (this.#file.database !== before) this.#prepared.clear();
    }
    this.#ledger.reopened(this.#file.database);
    this.#readers.wakeAll();
    this.#cancels.wakeAll(); // who waits for another process's writes looks anew
    return true;
  }

  #translated<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#patience.failed(error);
      throw translateSqliteError(error);
    }
  }

  /** How many rows it changed. */
  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  #one(sql: string, ...values: SQLInputValue[]) {
    return this.#statement(sql).get(...values);
  }

  /** Another value after each write of another connection. */
  #dataVersion(): unknown {
    return this.#one("PRAGMA data_version")?.["data_version"];
  }

  #statement(sql: string): StatementSync {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#file.database.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }

  /** Resolves once the value under that name differs from `seen`; at once if it already does. */
  async #untilOther(name: string, read: () => unknown, seen: unknown, signal: AbortSignal): Promise<void> {
    const waiting = this.#readers.wait(name, signal);
    waiting.catch(() => undefined); // the await below gets the failure; it is of no interest when the file cannot be read
    if (this.#translated(read) !== seen) this.#readers.wake(name);
    await waiting;
  }
}
