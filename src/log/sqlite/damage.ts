import { copyFileSync, existsSync, renameSync, statSync } from "node:fs";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";
import { type CommitNote, readCommitNote, removeNote } from "./commit-note.ts";
import { type KeyedTurn, KeyJournal } from "./key-journal.ts";

/** Damage that was found when a log was opened. */
export interface Damage {
  /** Where the old file is kept, with SQLite's files beside it; undefined if it was not moved. */
  readonly copy: string | undefined;
  /** How many turns that were asked for under a key are lost. */
  readonly lostKeys: number;
}

/**
 * Whether the log lost committed data, by the note beside it. SQLite does not report that: it reads its WAL up to the first bad
 * frame. It takes an empty file for a new one and deletes its WAL. A file without a WAL that is older than the note is a copy
 * that the user restored.
 */
export function hasLostCommits({ DatabaseSync: Database }: Pick<typeof Sqlite, "DatabaseSync">, path: string): boolean {
  const note = readCommitNote(path); // before the log is read: other processes go on writing
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (note === undefined || size === undefined) return false;
  if (size === 0) return note.commits > 0;
  if (!existsSync(`${path}-wal`)) return false;
  try {
    const database = new Database(path, { readOnly: true });
    try {
      return isBehind(database, note);
    } finally {
      database.close();
    }
  } catch {
    return false; // opening the log reports a file that cannot be opened
  }
}

/** Whether the log is not as far as the note says. */
export function isBehind(database: DatabaseSync, note: CommitNote): boolean {
  const hasState = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_state'").get() !== undefined;
  if (!hasState) return note.commits > 0; // lost with all that came after it
  const state = readLogState(database);
  return state !== undefined && state.logId === note.logId && state.commits < note.commits;
}

/** Which log it is and how many flushed commits it had. */
export function readLogState(database: DatabaseSync): Omit<CommitNote, "atMs"> | undefined {
  const row = database.prepare("SELECT log_id, commits FROM log_state").get();
  return row && { logId: String(row["log_id"]), commits: Number(row["commits"]) };
}

/** Moves a damaged file and SQLite's files beside it away, and returns the new path. The file is never deleted. */
export function setDatabaseAside(path: string, stamp: string): string {
  return preserve(path, stamp, renameSync);
}

/** Copies a damaged file and SQLite's files beside it, before SQLite writes over it. No connection may be open. */
export function copyDatabaseAside(path: string, stamp: string): string {
  return preserve(path, stamp, copyFileSync);
}

/** The user removed the file: forgets the note and the key journal beside it. */
export function forgetLog(path: string): void {
  removeNote(path);
  new KeyJournal(path).forget();
}

/** The turns that were asked for under a key and are not in the log. */
export function lostTurns(path: string, database: DatabaseSync): readonly KeyedTurn[] {
  const held = database.prepare("SELECT 1 FROM turns WHERE turn_id = ?");
  return new KeyJournal(path).read().filter(({ turnId }) => held.get(turnId) === undefined);
}

/**
 * Removes the turns that seem to wait for their prompt to be sent: it may have been sent, and exactly that record may be lost. The
 * copy of the damaged log has them.
 */
export function dropUnstarted(database: DatabaseSync): void {
  database.exec(`BEGIN IMMEDIATE;
    DELETE FROM headers WHERE turn IN (SELECT number FROM turns WHERE last_seq = 0 AND outcome IS NULL);
    DELETE FROM turns WHERE last_seq = 0 AND outcome IS NULL;
    COMMIT`);
}

/** Makes every process refuse those keys from now on. */
export function keepLostKeys(database: DatabaseSync, turns: readonly KeyedTurn[]): void {
  const insert = database.prepare("INSERT OR IGNORE INTO lost_keys (digest, turn_id, created_at_ms) VALUES (?, ?, ?)");
  database.exec("BEGIN IMMEDIATE");
  for (const { digest, turnId, createdAtMs } of turns) insert.run(digest, turnId, createdAtMs);
  database.exec("COMMIT");
}

function preserve(path: string, stamp: string, put: (from: string, to: string) => void): string {
  const copy = `${path}.damaged-${stamp}`;
  for (const suffix of ["", "-wal", "-shm"]) {
    if (existsSync(path + suffix)) put(path + suffix, copy + suffix);
  }
  return copy;
}
