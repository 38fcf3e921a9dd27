import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import { moveFileSync } from "../../base/node/move-file.ts";
import { isDamaged, lockTimeoutMs, translateSqliteError } from "./sqlite-errors.ts";

/** Marks a file as Millrace's ("MilR"), so that another program's database is never mistaken for a log or a usage history. */
export const applicationId = 0x4d696c52;

/** `PRAGMA user_version` of a file with these tables. */
const schemaVersion = 1;

/**
 * Entries and heads name their row by a short number that is never used again. Entries are a rowid table with an index: measured 1.8 times
 * faster to append to than a composite key without rowid. `leftovers` are numbers of removed rows whose entries a sweep still deletes.
 */
const schema = `
  CREATE TABLE logs (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    last INTEGER NOT NULL,
    open INTEGER NOT NULL,
    owner TEXT NOT NULL,
    expires_at_ms INTEGER,
    tags TEXT NOT NULL,
    meta TEXT NOT NULL,
    proof BLOB NOT NULL
  ) STRICT;
  CREATE INDEX logs_by_time ON logs (kind, created_at_ms);
  CREATE INDEX open_logs ON logs (kind, created_at_ms) WHERE open = 1;
  CREATE INDEX expiring_logs ON logs (kind, expires_at_ms) WHERE expires_at_ms IS NOT NULL;
  CREATE TABLE heads (n INTEGER PRIMARY KEY, head BLOB NOT NULL) STRICT;
  CREATE TABLE entries (n INTEGER NOT NULL, seq INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX entries_of_log ON entries (n, seq);
  CREATE TABLE tags (
    tag TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (tag, created_at_ms, n)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX one_log_a_key ON tags (tag) WHERE tag >= 'key:' AND tag < 'key;';
  CREATE TABLE leftovers (n INTEGER PRIMARY KEY) STRICT;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};`;

const logTables = ["logs", "heads", "entries", "tags", "leftovers"];

export interface SqliteFileOptions {
  /** The file; its folder is made if needed. Or `:memory:`. */
  readonly path: string;
  /** How long opening waits for another program's lock, while nothing else runs; ms, two seconds by default. */
  readonly openTimeoutMs?: number;
  /** The file's largest size, in pages of 4 KiB; unset: as large as the disk. */
  readonly maxPages?: number;
  /** Called when a damaged file was renamed: `copy` is where it is now. A new log begins. */
  readonly onSetAside?: (copy: string) => void;
}

/**
 * Opens a file for rows, or creates it (0600, its folder 0700). A file that SQLite cannot read is renamed and never deleted. SQLite checks
 * every page (`quick_check`) where the last gateway did not stop in order: its WAL is still there then. A file that was closed in order is
 * as it was written, and a page that its disk has lost is noticed when it is read.
 *
 * @throws MillraceError `degraded` when the file cannot be used, or was made by another version of Millrace or by another program.
 */
export function openFile(sqlite: typeof Sqlite, { path, onSetAside, ...options }: SqliteFileOptions): DatabaseSync {
  if (path === ":memory:") {
    const database = new sqlite.DatabaseSync(path);
    database.exec(schema);
    return database;
  }
  try {
    return openSound(path, onSetAside, () => openDatabase(sqlite, { path, ...options }));
  } catch (error) {
    throw asDegraded(error, path);
  }
}

/** Renames a damaged file and SQLite's files beside it to `<name>.damaged-<n>`, and returns the new path. The file is never deleted. */
export function setDatabaseAside(path: string): string {
  let number = 1;
  while (existsSync(`${path}.damaged-${number}`)) number++;
  const copy = `${path}.damaged-${number}`;
  // The file itself is the last: SQLite would read a WAL that stays behind into the new file.
  for (const suffix of ["-wal", "-shm", ""]) if (existsSync(path + suffix)) moveFileSync(path + suffix, copy + suffix);
  return copy;
}

/**
 * Makes the file of a database (0600, its folder 0700) where there is none. One that is there is not opened: closing it would give away
 * the locks of every connection that this process has to it. Another program could then take the file for itself and delete its WAL.
 * Throws as the system does, also where the file cannot be written: SQLite would open it for reading alone, and so would every later
 * connection of this process for as long as that one is open.
 */
export function makeDatabaseFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) accessSync(path, constants.W_OK);
  else closeSync(openSync(path, "a", 0o600));
}

/** Tells the file at a path from another one of the same name; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function openSound(path: string, onSetAside: SqliteFileOptions["onSetAside"], open: () => DatabaseSync): DatabaseSync {
  makeDatabaseFile(path);
  try {
    return open();
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const copy = setDatabaseAside(path);
    onSetAside?.(copy);
    makeDatabaseFile(path);
    return open();
  }
}

function openDatabase(
  { DatabaseSync: Database }: typeof Sqlite,
  { path, openTimeoutMs = lockTimeoutMs, maxPages }: SqliteFileOptions,
): DatabaseSync {
  refuseEmptied(path);
  const wasClosed = !existsSync(`${path}-wal`);
  const database = new Database(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${openTimeoutMs}`); // Node 22 before 22.16 takes no such option
    const version = versionOf(database);
    database.exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON");
    if (!wasClosed) checkPages(database);
    if (version === 0) database.exec(`BEGIN IMMEDIATE; ${schema} COMMIT`);
    else for (const table of logTables) database.prepare(`SELECT * FROM ${table} LIMIT 1`).get();
    // SQLite opens a file on a read-only disk for reading alone, and would stay so once the disk takes writes.
    database.exec("DELETE FROM leftovers WHERE false");
    if (maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`);
    database.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite takes an emptied file for a new one, and deletes its WAL. Throws SQLite's error of a damaged file. */
export function refuseEmptied(path: string): void {
  if (statSync(path).size === 0 && (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) throw damage();
}

/** Throws SQLite's error of a damaged file if a page makes no sense. */
export function checkPages(database: DatabaseSync): void {
  if (database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"] !== "ok") throw damage();
}

/**
 * The version of the tables; 0 if the file is empty, or only the usage history has been in it. Changes nothing.
 *
 * @throws MillraceError `degraded` if another program or another version of Millrace made the file.
 */
export function versionOf(database: DatabaseSync): number {
  // In this order: the usage history, which stands in the same file, marks it when it makes the first table.
  const tables = new Set(
    database
      .prepare("SELECT name FROM sqlite_schema")
      .all()
      .map(({ name }) => name),
  );
  const version = numberOf(database, "user_version");
  if (tables.size > 0 && numberOf(database, "application_id") !== applicationId) {
    throw new MillraceError("degraded", "The log's file belongs to another program.", {
      hint: "Set MILLRACE_HOME to a folder of Millrace's own. Nothing was changed.",
    });
  }
  if (version > schemaVersion || (version > 0 && tables.has("turns"))) {
    throw new MillraceError("degraded", "The log was written by another version of Millrace.", {
      hint: "Start that version, or move the file `turns.db` away: a new log begins then. Nothing was changed.",
    });
  }
  if (version === schemaVersion && !tables.has("logs")) throw damage();
  return version;
}

/** Free pages of less are no matter: 4 MB. */
const fewPages = 1_024;
/** What is in use is written anew, which takes a second for each 100 MB: a stop waits no longer. */
const mostPagesInUse = 25_000;

/** Gives the disk back what is free, where that is more than half of the file. For a stop, when nobody waits for the file any more. */
export function giveBackFreePages(database: DatabaseSync): void {
  try {
    const [pages, free] = [numberOf(database, "page_count"), numberOf(database, "freelist_count")];
    if (free > fewPages && free > pages / 2 && pages - free < mostPagesInUse) database.exec("VACUUM");
  } catch {
    // another process uses the file, or the disk is full: the next stop tries it again
  }
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}

/** As SQLite's own error of a file that it cannot read. */
function damage(): Error {
  return Object.assign(new Error("the file is damaged"), { errcode: 11 }); // SQLITE_CORRUPT
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

/** The state of a log's file, found without opening it as a log: nothing is created, repaired or moved. `why` is in words. */
export type LogFileState =
  | { readonly kind: "missing" }
  | { readonly kind: "damaged" | "foreign" | "unreadable"; readonly bytes: number; readonly why: string }
  | { readonly kind: "sound"; readonly bytes: number; readonly turns: number; readonly openTurns: number };

const inspectTimeoutMs = 1_000;

/** Looks at the file with its companions (`-wal`, `-shm`), and lets SQLite check every page of it. */
export async function inspectLogFile(path: string): Promise<LogFileState> {
  const sizes = [path, `${path}-wal`, `${path}-shm`].map((each) => statSync(each, { throwIfNoEntry: false })?.size);
  if (sizes[0] === undefined) return { kind: "missing" };
  const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const { DatabaseSync: Database } = loadSqlite();
  let database: DatabaseSync | undefined;
  try {
    refuseEmptied(path);
    if (sizes[0] === 0) return { kind: "sound", bytes, turns: 0, openTurns: 0 }; // made, but never written to
    database = new Database(path, { readOnly: true, timeout: inspectTimeoutMs });
    const version = versionOf(database);
    checkPages(database);
    const turns = version === 0 ? undefined : database.prepare(countTurns).get();
    return { kind: "sound", bytes, turns: Number(turns?.["turns"] ?? 0), openTurns: Number(turns?.["open"] ?? 0) };
  } catch (error) {
    if (isMillraceError(error)) return { kind: "foreign", bytes, why: error.message };
    if (isDamaged(error)) return { kind: "damaged", bytes, why: "its pages make no sense" };
    const { errcode } = error as { readonly errcode?: number }; // SQLite's code, on its errors
    return { kind: "unreadable", bytes, why: `SQLite code ${errcode ?? "unknown"}` };
  } finally {
    database?.close();
  }
}

const countTurns = "SELECT count(*) AS turns, coalesce(sum(open), 0) AS open FROM logs WHERE kind = 'turn'";
