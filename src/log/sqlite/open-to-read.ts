import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { MillraceError } from "../../base/errors.ts";
import { readCommitNote } from "./commit-note.ts";
import { isBehind, lostTurns } from "./damage.ts";
import { lockTimeoutMs } from "./lock-patience.ts";
import { applicationId, migrations } from "./schema.ts";

export interface Readable {
  readonly database: DatabaseSync;
  /** Turns that were asked for under a key and are lost, where the log is damaged; undefined where it is whole. */
  readonly lostKeys: ReadonlySet<string> | undefined;
  /** Closes it, and removes the copy that was made to read it. */
  readonly close: () => void;
}

/**
 * Opens a log whose disk is full or cannot be written, to read it. SQLite needs a `-shm` file beside a WAL, unless one
 * connection has the file alone and keeps that part in memory, or the file cannot change. Where neither helps, a copy in the
 * system's folder for temporary files is read. Source: sqlite.org/wal.html, "Use of WAL without shared memory" and "Read-only databases".
 *
 * @throws MillraceError `degraded` when the log was written by another version. Throws what SQLite or the system throws where
 * nothing can be read.
 */
export function openToRead(sqlite: typeof Sqlite, path: string): Readable {
  if (statSync(path).size === 0) throw new Error("there is nothing in the file");
  const hasWal = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const ways = [
    () => usable(new sqlite.DatabaseSync(path, { readOnly: true })),
    () => alone(new sqlite.DatabaseSync(path)),
    ...(hasWal ? [] : [() => usable(new sqlite.DatabaseSync(immutable(path), { readOnly: true }))]),
  ];
  for (const way of ways) {
    const database = attempt(way);
    if (database !== undefined) return readable(database, path, () => database.close());
  }
  const folder = mkdtempSync(join(tmpdir(), "millrace-log-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, "log.db");
    for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
    const database = usable(new sqlite.DatabaseSync(copy));
    const close = () => {
      database.close();
      remove();
    };
    return readable(database, path, close);
  } catch (error) {
    remove();
    throw error;
  }
}

function readable(database: DatabaseSync, path: string, close: () => void): Readable {
  const note = readCommitNote(path);
  const isDamaged = note !== undefined && existsSync(`${path}-wal`) && isBehind(database, note);
  const lostKeys = isDamaged ? new Set(lostTurns(path, database).map(({ digest }) => digest)) : undefined;
  return { database, lostKeys, close };
}

/** Undefined where this way does not work; another one may. */
function attempt(way: () => DatabaseSync): DatabaseSync | undefined {
  try {
    return way();
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    return undefined;
  }
}

/** Keeps the index of the WAL in this process's memory. No other process can use the file at the same time. */
function alone(database: DatabaseSync): DatabaseSync {
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  return usable(database);
}

/** The connection, once it has been read from as this version's log. */
function usable(database: DatabaseSync): DatabaseSync {
  try {
    database.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    const numberOf = (pragma: string) => Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    if (numberOf("application_id") !== applicationId) throw new Error("it is another program's");
    if (numberOf("user_version") !== migrations.length) {
      throw new MillraceError("degraded", "The log was written by another version, and its disk cannot be written.", {
        hint: "Free disk space, or make the log's folder writable. Millrace then updates the log.",
      });
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function immutable(path: string): string {
  return `${pathToFileURL(path).href}?immutable=1`;
}
