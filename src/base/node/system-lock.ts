import { existsSync, writeFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { loadSqlite } from "./load-sqlite.ts";

/** SQLite's codes for a lock that another connection has. Source: sqlite.org/rescode.html. */
const busyCodes = new Set([5, 6]);

/**
 * Takes a lock of the operating system, and returns the function that gives it back; undefined while another process has it. The system
 * ends the lock with its process, so no process number, boot or time has to be compared. The lock is an exclusive transaction on an
 * empty SQLite file, which stays. It counts for every process that sees the file: on Linux, macOS and Windows, and across containers.
 * Nothing else in this process may open the file: POSIX would end the lock.
 *
 * @throws Error as SQLite does where the file cannot be made or locked.
 */
export function takeLock(file: string, waitMs = 0): (() => void) | undefined {
  if (!existsSync(file)) makeFile(file);
  const database = open(file, false, waitMs);
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  let isHeld = true; // a database says whether it is open from Node 22.15 on
  return () => {
    if (isHeld) database.close();
    isHeld = false;
  };
}

/** Whether a process has the lock of this file now. Throws as SQLite does where the file cannot be read. */
export function isLocked(file: string): boolean {
  if (!existsSync(file)) return false;
  const database = open(file, true, 0);
  try {
    database.exec("SELECT 1 FROM sqlite_schema");
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

function open(file: string, readOnly: boolean, waitMs: number): DatabaseSync {
  const database = new (loadSqlite().DatabaseSync)(file, { readOnly });
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  return database;
}

/** With the mode that SQLite does not give. Two processes may do this at once. */
function makeFile(file: string): void {
  try {
    writeFileSync(file, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && busyCodes.has(Number(error.errcode) & 0xff);
}
