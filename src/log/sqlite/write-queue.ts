import type { DatabaseSync } from "node:sqlite";
import { isMillraceError } from "../../base/errors.ts";
import { Slices } from "../../base/node/slices.ts";
import { isDamaged, LockPatience, translateSqliteError } from "./sqlite-errors.ts";

interface Write {
  readonly flush: boolean;
  /** Inside the transaction; run again, from the same state, where another write of the transaction failed. */
  readonly work: () => void;
  /** Called after the transaction: `failure` is the reason if it was rolled back. */
  readonly over: (failure: { readonly error: unknown } | undefined) => void;
}

/** The waiters of a large group are resolved in slices, because a hundred answers would block the event loop for too long. */
const toldAtOnce = 8;

/**
 * Writes to one database, in order, all that come at about one time in one transaction: a hundred turns that start together wait for a
 * few flushes of the disk and not for a hundred. A write that throws is undone alone.
 */
export class WriteQueue {
  readonly #database: DatabaseSync;
  readonly #before: (flush: boolean) => void;
  readonly #statements;
  readonly #patience: LockPatience;
  readonly #pace: CommitPace;
  readonly #told = new Slices();
  #waiting: Write[] = [];
  #flushes: boolean | undefined;
  #takeBack: (() => void) | undefined;
  #isDamaged = false;

  /** `before` is called before each transaction, and may refuse it. `monotonic`: ms that never go back. */
  constructor(
    database: DatabaseSync,
    before: (flush: boolean) => void = () => {},
    monotonic = () => performance.now(),
  ) {
    this.#database = database;
    this.#before = before;
    const prepare = (sql: string) => database.prepare(sql);
    this.#statements = { begin: prepare("BEGIN IMMEDIATE"), commit: prepare("COMMIT"), rollback: prepare("ROLLBACK") };
    this.#patience = new LockPatience(database);
    this.#pace = new CommitPace(monotonic);
  }

  /**
   * Resolves once committed; on the disk then, with everything before it, if `flush`. Rejects with the error of `work` or of the commit,
   * translated; then nothing was written. `writer` names the caller: the more writers, the longer a group waits for more writes.
   */
  write<T>(flush: boolean, work: () => T, writer?: string): Promise<T> {
    return new Promise((resolve, reject) => {
      let value: T;
      this.#waiting.push({
        flush,
        work: () => (value = work()),
        over: (failure) => {
          if (failure === undefined) resolve(value);
          else reject(failure.error);
        },
      });
      this.#schedule(writer);
    });
  }

  /** Whether SQLite met a page of the file that makes no sense. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** Does a read, and translates its error. */
  read<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #failed(error: unknown): unknown {
    this.#patience.failed(error);
    this.#isDamaged ||= isDamaged(error);
    return translateSqliteError(error);
  }

  /** Writes all waiting groups now, and settles every waiter. */
  drain(): void {
    this.#write();
    this.#told.drain();
  }

  #schedule(writer: string | undefined): void {
    const first = this.#waiting.length === 1;
    const delayMs = this.#pace.wrote(writer, this.#waiting.length);
    if (delayMs > 0 && first) {
      const timer = setTimeout(() => this.#write(), delayMs);
      this.#takeBack = () => clearTimeout(timer);
    } else if (first || (delayMs === 0 && this.#takeBack !== undefined)) {
      this.#takeBack?.();
      this.#takeBack = undefined;
      setImmediate(() => this.#write());
    }
  }

  #write(): void {
    this.#takeBack?.();
    this.#takeBack = undefined;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    this.#commit(group);
    this.#pace.committed();
  }

  #commit(group: readonly Write[]): void {
    const failure = this.#attempt(group);
    if (failure !== undefined && group.length > 1 && !isMillraceError(failure.error)) {
      for (const write of group) this.#commit([write]); // one of them has a defect, and the others have not
    } else if (group.length <= toldAtOnce && !this.#told.isBusy) for (const { over } of group) over(failure);
    else for (const { over } of group) this.#told.later(() => over(failure));
  }

  /** Returns the reason if the transaction was rolled back. */
  #attempt(group: readonly Write[]): { readonly error: unknown } | undefined {
    const flush = group.some((write) => write.flush);
    try {
      this.#before(flush);
      this.#flushAtCommit(flush);
      this.#statements.begin.run();
      for (const { work } of group) work();
      this.#statements.commit.run();
      this.#patience.wrote();
      return undefined;
    } catch (error) {
      this.#rollBack();
      return { error: this.#failed(error) };
    }
  }

  #flushAtCommit(flush: boolean): void {
    if (flush === this.#flushes) return;
    this.#database.exec(`PRAGMA synchronous = ${flush ? "FULL" : "NORMAL"}`);
    this.#flushes = flush;
  }

  #rollBack(): void {
    try {
      this.#statements.rollback.run();
    } catch {
      // SQLite has rolled it back by itself, or it never began
    }
  }
}

/** Who wrote in this long counts as writing now; ms. */
const lookedBackMs = 100;

/** Up to so many writers commit at once, without waiting for a group. */
const fewWriters = 4;

/** The longest that a group waits after the last commit, while many write; ms. Two hundred answers then share 125 transactions a second. */
const longestMs = 8;

/** A group this large waits no longer. */
const largestGroup = 512;

/** How long a group of writes waits for more writes: 0 ms while few turns answer, up to 8 ms while many do. */
export class CommitPace {
  readonly #monotonic: () => number;
  #writers = new Set<string>();
  #writersBefore = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #committedAtMs = Number.NEGATIVE_INFINITY;

  /** `monotonic`: ms that never go back. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Notes a new write, in a group of `waiting`. Answers how long the group waits still, ms; 0 is "write now". */
  wrote(writer: string | undefined, waiting: number): number {
    const nowMs = this.#monotonic();
    if (nowMs - this.#sinceMs >= lookedBackMs) {
      this.#writersBefore = nowMs - this.#sinceMs < 2 * lookedBackMs ? this.#writers.size : 0;
      this.#writers = new Set();
      this.#sinceMs = nowMs;
    }
    if (writer !== undefined) this.#writers.add(writer);
    const writers = Math.max(this.#writers.size, this.#writersBefore);
    if (writers <= fewWriters || waiting >= Math.min(writers, largestGroup)) return 0;
    const windowMs = Math.min(longestMs, writers / fewWriters);
    return Math.max(0, this.#committedAtMs + windowMs - nowMs);
  }

  committed(): void {
    this.#committedAtMs = this.#monotonic();
  }
}
