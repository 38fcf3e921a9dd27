import { closeSync, existsSync, mkdirSync, openSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../base/errors.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { lockTimeoutMs } from "./lock-patience.ts";
import { applicationId, migrations } from "./schema.ts";
import { isDamaged, translateSqliteError } from "./sqlite-errors.ts";

export interface OpenedDatabase {
  readonly database: DatabaseSync;
  /** Opens what stands at the path now, in the same way; damaged or not, it is left there. Throws what SQLite throws. */
  readonly reopen: () => DatabaseSync;
  /** Where a damaged file that stood at the path was moved to; it is never deleted. */
  readonly setAside: string | undefined;
}

/**
 * Opens the log's file, makes it (0600, its folder 0700) or brings it up to this version. A damaged file is moved aside and
 * a fresh one made. Another program's lock is waited for `openTimeoutMs`, and nothing else runs meanwhile.
 *
 * @throws MillraceError `degraded` when the file cannot be used, was made by a newer Millrace or by another program.
 */
export async function openDatabase(
  path: string,
  stamp: string,
  openTimeoutMs = lockTimeoutMs,
): Promise<OpenedDatabase> {
  const { DatabaseSync } = await loadSqlite();
  const open = (): DatabaseSync => {
    const database = new DatabaseSync(path);
    try {
      prepare(database, openTimeoutMs);
      database.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makePrivate(path);
    const first = attempt(open);
    if (first.database !== undefined) return { database: first.database, reopen: open, setAside: undefined };
    const setAside = setDatabaseAside(path, stamp);
    makePrivate(path);
    return { database: open(), reopen: open, setAside };
  } catch (error) {
    throw asDegraded(error, path);
  }
}

/** Moves a damaged file away with what SQLite keeps beside it, and answers where to. It is never deleted. */
export function setDatabaseAside(path: string, stamp: string): string {
  const copy = `${path}.damaged-${stamp}`;
  for (const suffix of ["", "-wal", "-shm"]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, copy + suffix);
  }
  return copy;
}

/** An empty file that only its owner can read; SQLite gives its companions the same mode. */
function makePrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
}

function attempt(open: () => DatabaseSync): { readonly database: DatabaseSync | undefined } {
  try {
    return { database: open() };
  } catch (error) {
    if (isDamaged(error)) return { database: undefined };
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
      hint: "Point Millrace at a file of its own, or move that one away.",
    });
  }
  if (version > migrations.length) {
    throw new MillraceError("degraded", "The log was written by a newer version of Millrace.", {
      hint: "Update Millrace, or move the file away to begin a new log.",
    });
  }
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  const check = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (check !== "ok") throw Object.assign(new Error(String(check)), { errcode: 11 });
  for (let next = version; next < migrations.length; next++) {
    const steps = migrations[next] ?? "";
    database.exec(
      `BEGIN IMMEDIATE; ${steps}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${next + 1}; COMMIT`,
    );
  }
}

function numberOf(database: DatabaseSync, pragma: string): number {
  const value = database.prepare(`PRAGMA ${pragma}`).get()?.[pragma];
  return typeof value === "number" ? value : 0;
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
