import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { LockPatience } from "./lock-patience.ts";

interface Write {
  /** On the disk when it resolves, with everything before it. */
  readonly flush: boolean;
  /** Inside the transaction. */
  readonly work: () => void;
  /** After the transaction: `failure` is why none of it happened. */
  readonly over: (failure: { readonly error: unknown } | undefined) => void;
}

/**
 * Writes to one database, in order, all that come in one turn of the event loop in one transaction: a hundred turns that
 * start together wait for a few flushes of the disk and not for a hundred. A write that throws is undone alone.
 */
export class GroupCommit {
  readonly #database: Pick<DatabaseSync, "exec">;
  readonly #statement: (sql: string) => StatementSync;
  readonly #patience: LockPatience;
  readonly #keep: (flush: boolean) => boolean;
  #waiting: Write[] = [];
  #flushed: boolean | undefined;

  /** `keep` is called before each transaction, answers whether the connection is another one now, and may refuse it. */
  constructor(
    database: Pick<DatabaseSync, "exec">,
    statement: (sql: string) => StatementSync,
    patience: LockPatience,
    keep: (flush: boolean) => boolean = () => false,
  ) {
    this.#database = database;
    this.#statement = statement;
    this.#patience = patience;
    this.#keep = keep;
  }

  /** Resolves once committed; rejects with what `work`, or the commit, threw, and then nothing was written. */
  write<T>(flush: boolean, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: { readonly value: T } | { readonly error: unknown } | undefined;
      if (this.#waiting.length === 0) setImmediate(() => this.drain());
      this.#waiting.push({
        flush,
        work: () => {
          try {
            result = { value: work() };
          } catch (error) {
            result = { error };
            throw error;
          }
        },
        over: (failure) => {
          if (result !== undefined && "error" in result) reject(result.error);
          else if (failure !== undefined) reject(failure.error);
          else if (result !== undefined) resolve(result.value);
        },
      });
    });
  }

  /** Writes what waits, now. */
  drain(): void {
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    let failure: { readonly error: unknown } | undefined;
    try {
      const flush = group.some((write) => write.flush);
      if (this.#keep(flush)) this.#flushed = undefined;
      this.#flushAtCommit(flush);
      this.#statement("BEGIN IMMEDIATE").run();
      for (const { work } of group) this.#apart(work, group.length > 1);
      this.#statement("COMMIT").run();
      this.#patience.wrote();
    } catch (error) {
      this.#tryTo("ROLLBACK");
      this.#patience.failed(error);
      failure = { error };
    }
    for (const { over } of group) over(failure);
  }

  /** A write that fails takes back what it did, and nobody else's. Throws when the whole transaction is lost. */
  #apart(work: () => void, shared: boolean): void {
    if (shared) this.#statement("SAVEPOINT one").run();
    try {
      work();
    } catch (error) {
      // A full disk has rolled all of it back: then everybody's write failed, for this reason.
      if (!shared || !this.#tryTo("ROLLBACK TO one")) throw error;
    }
    if (shared) this.#statement("RELEASE one").run();
  }

  #flushAtCommit(flush: boolean): void {
    if (flush === this.#flushed) return;
    this.#database.exec(`PRAGMA synchronous = ${flush ? "FULL" : "NORMAL"}`);
    this.#flushed = flush;
  }

  #tryTo(sql: string): boolean {
    try {
      this.#statement(sql).run();
      return true;
    } catch {
      return false; // there is no transaction any more
    }
  }
}
