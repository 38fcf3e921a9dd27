import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { EventSink } from "../../base/emitter.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

/** The file of a log, through the connection that has it now. */
export interface KeptFile {
  readonly database: DatabaseSync;
  /** Before a write: answers whether `database` is another connection from now on. Throws `degraded` where none may be. */
  keep(): boolean;
  close(): void;
}

export interface HeldFileOptions {
  readonly path: string;
  readonly database: DatabaseSync;
  /** Opens the file at the path, as `database` was opened. */
  readonly reopen: () => DatabaseSync;
  /** `store_restored` comes before anything more is written to the file. */
  readonly events?: EventSink<StoreLifecycle>;
}

/**
 * A database whose file another program may delete or replace while it is open. Writes would then succeed and be lost, because
 * the system keeps an open file until it is closed. So the file is checked before each write, and restored whole if it is gone.
 */
export class HeldFile implements KeptFile {
  readonly #options: HeldFileOptions;
  /** Where the file is: SQLite keeps its companions there, and not beside a link to it. */
  readonly #path: string;
  #database: DatabaseSync;
  #main: string | undefined;
  #wal: string | undefined;

  constructor(options: HeldFileOptions) {
    this.#options = options;
    this.#path = realpathSync(options.path);
    this.#database = options.database;
    this.#noteWhatIsHeld();
  }

  get database(): DatabaseSync {
    return this.#database;
  }

  /**
   * Makes sure that the open file is still the one at the path. Returns whether `database` is a new connection from now on.
   *
   * @throws MillraceError `degraded` when the file is gone and cannot be put back, or another one stands in its place.
   */
  keep(): boolean {
    const { reopen, events } = this.#options;
    const path = this.#path;
    const main = identityOf(path);
    const wal = identityOf(walOf(path));
    this.#wal ??= wal; // SQLite makes it with the first transaction
    if (main === this.#main && wal === this.#wal) return false;
    try {
      const isOurs = main === undefined || main === this.#main;
      if (isOurs) this.#putBack(main !== undefined);
      else if (wal === this.#wal || !this.#isCopied()) throw replaced(path); // with what stands beside it, it is no file's copy
      const next = reopen();
      this.#database.close();
      this.#database = next;
      this.#noteWhatIsHeld();
      if (isOurs) events?.emit("store_restored", {});
      return true;
    } catch (error) {
      throw asDegraded(error, path);
    }
  }

  close(): void {
    this.#database.close();
  }

  #noteWhatIsHeld(): void {
    this.#main = identityOf(this.#path);
    this.#wal = identityOf(walOf(this.#path));
  }

  /** All that was committed, as one file at the path: whole, or not there. */
  #putBack(replaces: boolean): void {
    const path = this.#path;
    const folder = dirname(path);
    const draft = `${path}.${randomBytes(6).toString("hex")}.draft`;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      closeSync(openSync(draft, "wx", 0o600));
      this.#database.prepare("VACUUM INTO ?").run(draft);
      flush(draft, "r+");
      removeCompanions(path);
      if (replaces) renameSync(draft, path);
      else linkSync(draft, path); // never over another one's
      flush(folder, "r");
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /**
   * Whether another process that shares the log put the file at the path there. If so, each owner that signed up here is in it too,
   * with at least the same lease. This process has written nothing since, or it would have put the file back itself.
   */
  #isCopied(): boolean {
    const ours = ownersIn(this.#database);
    const copy = this.#options.reopen();
    try {
      const theirs = ownersIn(copy);
      return ours.size > 0 && [...ours].every(([owner, aliveUntil]) => (theirs.get(owner) ?? -1) >= aliveUntil);
    } finally {
      copy.close();
    }
  }
}

/** The identity of the file at the path, to notice another file of the same name; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function walOf(path: string): string {
  return `${path}-wal`;
}

/** Removes the files that SQLite keeps beside its own. A process that has them open can still use them. */
function removeCompanions(path: string): void {
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

function ownersIn(database: DatabaseSync): ReadonlyMap<string, number> {
  const rows = database.prepare("SELECT owner, alive_until_ms FROM owners").all();
  return new Map(rows.map((row) => [String(row["owner"]), Number(row["alive_until_ms"])]));
}

/** Flushes a folder to the disk. Windows flushes no folders. */
function flush(path: string, mode: "r" | "r+"): void {
  try {
    const descriptor = openSync(path, mode);
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (mode === "r+") throw error;
  }
}

function replaced(path: string): MillraceError {
  return new MillraceError("degraded", `Another file is in the place of the log's file (${path}).`, {
    hint: "Move that file to another folder. Millrace then restores its own file.",
  });
}

function asDegraded(error: unknown, path: string): unknown {
  if (isMillraceError(error)) return error;
  const what = `The log's file (${path}) is gone, and the one to replace it`;
  const translated = translateSqliteError(error, what);
  if (translated !== error) return translated;
  if (error instanceof Error && "code" in error && "syscall" in error) {
    return new MillraceError("degraded", `${what} cannot be made: ${String(error.code)}.`, { cause: error });
  }
  return error;
}
