import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../base/errors.ts";
import { NoteWriter, readCommitNote } from "./commit-note.ts";
import {
  copyDatabaseAside,
  type Damage,
  dropUnstarted,
  forgetLog,
  hasLostCommits,
  keepLostKeys,
  lostTurns,
  readLogState,
  setDatabaseAside,
} from "./damage.ts";
import { KeyJournal } from "./key-journal.ts";
import { beginJournal } from "./ledger.ts";
import { lockTimeoutMs } from "./lock-patience.ts";
import { type MigrateOptions, migrate, numberOf } from "./migrate.ts";
import { applicationId, migrations } from "./schema.ts";
import { isDamaged, translateSqliteError } from "./sqlite-errors.ts";

export interface OpenedDatabase {
  readonly database: DatabaseSync;
  /** Opens the file at the path now, in the same way; a damaged file is left there. Throws SQLite's errors. */
  readonly reopen: () => DatabaseSync;
  /** The damage that was found; the damaged files are kept beside the log. */
  readonly damage: Damage | undefined;
}

export interface OpenDatabaseOptions extends MigrateOptions {
  readonly path: string;
  /** How long another program's lock is waited for, while nothing else runs; ms. */
  readonly openTimeoutMs?: number | undefined;
}

/**
 * Opens the log's file; creates it (0600, its folder 0700) or migrates it to this version. A damaged file is never deleted: a
 * file that SQLite cannot read is moved aside, and a new one is made. A file that lost its last commits is copied, and then used.
 *
 * @throws MillraceError `degraded` when the file cannot be used, was made by a newer Millrace or by another program, or is used by an
 *   older one.
 */
export function openDatabase(sqlite: typeof Sqlite, options: OpenDatabaseOptions): OpenedDatabase {
  const { path, nowMs, ownerIsGone, openTimeoutMs = lockTimeoutMs } = options;
  const stamp = String(nowMs);
  const open = (): DatabaseSync => {
    const database = new sqlite.DatabaseSync(path);
    try {
      prepare(database, openTimeoutMs);
      migrate(database, { nowMs, ownerIsGone });
      database.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (!existsSync(path)) forgetLog(path);
    makePrivate(path);
    let copy: string | undefined;
    if (hasLostCommits(sqlite, path)) {
      copy = statSync(path).size === 0 ? setDatabaseAside(path, stamp) : copyDatabaseAside(path, stamp);
      makePrivate(path);
    }
    let database = attempt(open);
    if (database === undefined) {
      copy = setDatabaseAside(path, copy === undefined ? stamp : `${stamp}-2`);
      makePrivate(path);
      database = open();
    }
    return { database, reopen: open, damage: settle(database, { path, nowMs }, copy) };
  } catch (error) {
    throw asDegraded(error, path);
  }
}

/** Makes the ledger match the log, and refuses the lost keys from now on. */
function settle(
  database: DatabaseSync,
  { path, nowMs }: OpenDatabaseOptions,
  copy: string | undefined,
): Damage | undefined {
  if (copy !== undefined) dropUnstarted(database);
  const lost = copy === undefined ? [] : lostTurns(path, database);
  if (lost.length > 0) keepLostKeys(database, lost);
  const state = readLogState(database);
  if (state !== undefined && (copy !== undefined || readCommitNote(path)?.logId !== state.logId)) {
    const note = new NoteWriter(path);
    note.write({ ...state, atMs: nowMs });
    note.close();
  }
  beginJournal(new KeyJournal(path), database);
  return copy === undefined ? undefined : { copy, lostKeys: lost.length };
}

/** An empty file that only its owner can read; SQLite gives its companions the same mode. */
function makePrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
}

/** Undefined where the file is damaged. */
function attempt(open: () => DatabaseSync): DatabaseSync | undefined {
  try {
    return open();
  } catch (error) {
    if (isDamaged(error)) return undefined;
    throw error;
  }
}

function prepare(database: DatabaseSync, openTimeoutMs: number): void {
  database.exec(`PRAGMA busy_timeout = ${openTimeoutMs}`); // Node 22 before 22.16 takes no such option
  // In this order: the usage history, which stands in the same file, marks it when it makes the first table.
  const empty = database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"] === 0;
  const version = numberOf(database, "user_version");
  const application = numberOf(database, "application_id");
  if (application !== applicationId && !empty) {
    throw new MillraceError("degraded", "The log's file belongs to another program.", {
      hint: "Set MILLRACE_HOME to a folder of Millrace's own. Nothing was changed.",
    });
  }
  if (version > migrations.length) {
    throw new MillraceError("degraded", "The log was written by a newer version of Millrace.", {
      hint: "Update Millrace, or set MILLRACE_HOME to another folder. Nothing was changed.",
    });
  }
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  const check = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (check !== "ok") throw Object.assign(new Error(String(check)), { errcode: 11 });
}

function asDegraded(error: unknown, path: string): unknown {
  const translated = translateSqliteError(error, `The log's file (${path})`);
  if (translated !== error) return translated;
  if (error instanceof Error && "code" in error && "syscall" in error) {
    return new MillraceError("degraded", `The log's file (${path}) cannot be opened: ${String(error.code)}.`, {
      cause: error,
    });
  }
  return error;
}
