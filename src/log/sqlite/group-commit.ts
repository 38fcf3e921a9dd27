import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Slices } from "../../base/node/slices.ts";
import type { CommitPace } from "./commit-pace.ts";
import type { LockPatience } from "./lock-patience.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

interface Write {
  /** On the disk when it resolves, with everything before it. */
  readonly flush: boolean;
  /** Inside the transaction; run again, from the same state, where another write of the transaction failed. */
  readonly work: () => void;
  /** Called after the transaction: `failure` is the reason if it was rolled back. */
  readonly over: (failure: { readonly error: unknown } | undefined) => void;
}

/** The waiters of a large group are resolved in slices, because a hundred answers would block the event loop for too long. */
const toldAtOnce = 8;

export interface GroupCommitOptions {
  readonly database: Pick<DatabaseSync, "exec">;
  readonly statement: (sql: string) => StatementSync;
  readonly patience: LockPatience;
  /** How long a group waits for more. */
  readonly pace: CommitPace;
  /** Called before each transaction, answers whether the connection is another one now, and may refuse it. */
  readonly keep?: (flush: boolean) => boolean;
  /** Called inside each transaction that is flushed; the returned function is called once the transaction is on the disk. */
  readonly count?: () => () => void;
}

/**
 * Writes to one database, in order, all that come at about one time in one transaction: a hundred turns that start together wait for a
 * few flushes of the disk and not for a hundred. A write that throws is undone alone.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #waiting: Write[] = [];
  #flushed: boolean | undefined;
  #scheduled: (() => void) | undefined;
  readonly #telling = new Slices();

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /**
   * Resolves once committed. Rejects with the error of `work` or of the commit, translated; then nothing was written. `writer` names
   * the caller: the more writers there are, the longer a group waits for more writes.
   */
  write<T>(flush: boolean, work: () => T, writer?: string): Promise<T> {
    return new Promise((resolve, reject) => {
      let value: T;
      let thrown: { readonly error: unknown } | undefined;
      this.#waiting.push({
        flush,
        work: () => {
          thrown = undefined;
          try {
            value = work();
          } catch (error) {
            thrown = { error };
            throw error;
          }
        },
        over: (failure) => {
          const reason = thrown ?? failure;
          if (reason === undefined) resolve(value);
          else reject(translateSqliteError(reason.error));
        },
      });
      this.#schedule(writer);
    });
  }

  /** Writes all waiting groups now, and settles every waiter. */
  drain(): void {
    this.#write();
    this.#telling.drain();
  }

  #write(): void {
    this.#scheduled?.();
    this.#scheduled = undefined;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    const failure = this.#commit(group);
    this.#options.pace.committed();
    if (group.length <= toldAtOnce && !this.#telling.isBusy) for (const { over } of group) over(failure);
    else for (const { over } of group) this.#telling.later(() => over(failure));
  }

  #schedule(writer: string | undefined): void {
    const { pace } = this.#options;
    const first = this.#waiting.length === 1;
    const delayMs = pace.wrote(writer, this.#waiting.length);
    if (delayMs > 0 && first) {
      const timer = setTimeout(() => this.#write(), delayMs);
      this.#scheduled = () => clearTimeout(timer);
    } else if (first || (delayMs === 0 && this.#scheduled !== undefined)) {
      this.#scheduled?.();
      this.#scheduled = undefined;
      setImmediate(() => this.#write());
    }
  }

  /** Returns the reason if the transaction was rolled back. */
  #commit(group: readonly Write[]): { readonly error: unknown } | undefined {
    const { statement, patience, keep = () => false } = this.#options;
    try {
      const flush = group.some((write) => write.flush);
      if (keep(flush)) this.#flushed = undefined;
      this.#flushAtCommit(flush);
      statement("BEGIN IMMEDIATE").run();
      if (!this.#together(group)) {
        statement("BEGIN IMMEDIATE").run();
        for (const { work } of group) this.#apart(work);
      }
      const counted = flush ? this.#options.count?.() : undefined;
      statement("COMMIT").run();
      counted?.();
      patience.wrote();
      return undefined;
    } catch (error) {
      this.#tryTo("ROLLBACK");
      patience.failed(error);
      return { error };
    }
  }

  /** False if one of several writes failed; all are undone then. Failures are rare, so the group has no savepoint for each write. */
  #together(group: readonly Write[]): boolean {
    try {
      for (const { work } of group) work();
      return true;
    } catch (error) {
      if (group.length === 1) throw error;
      this.#tryTo("ROLLBACK");
      return false;
    }
  }

  /** A write that fails undoes only its own changes. Throws when the whole transaction is lost. */
  #apart(work: () => void): void {
    this.#options.statement("SAVEPOINT one").run();
    try {
      work();
    } catch (error) {
      // A full disk rolls the whole transaction back: every write of the group failed for this reason.
      if (!this.#tryTo("ROLLBACK TO one")) throw error;
    }
    this.#options.statement("RELEASE one").run();
  }

  #flushAtCommit(flush: boolean): void {
    if (flush === this.#flushed) return;
    this.#options.database.exec(`PRAGMA synchronous = ${flush ? "FULL" : "NORMAL"}`);
    this.#flushed = flush;
  }

  #tryTo(sql: string): boolean {
    try {
      this.#options.statement(sql).run();
      return true;
    } catch {
      return false; // there is no transaction any more
    }
  }
}
