import type { DatabaseSync } from "node:sqlite";
import { isMillraceError, MillraceError } from "../../base/errors.ts";

/** SQLite's primary result codes that blame the medium, not the program. Source: sqlite.org/rescode.html. */
const mediumFaults: ReadonlyMap<number, string> = new Map([
  [5, "is locked by another program"],
  [6, "is locked by another program"],
  [8, "cannot be written to"],
  [10, "cannot be read or written"],
  [11, "is damaged"],
  [13, "has no room left"],
  [14, "cannot be opened"],
  [15, "is locked by another program"],
  [23, "cannot be opened"],
  [26, "is not a database"],
]);

const damaged = new Set([11, 26]);
const locked = new Set([5, 6, 15]);

/** Translates an error of SQLite: `degraded` when the file fails; other errors are bugs and pass unchanged. */
export function translateSqliteError(error: unknown, what = "The log's file"): unknown {
  if (isMillraceError(error)) return error;
  const fault = mediumFaults.get(primaryCode(error) ?? -1);
  if (fault === undefined) return error;
  const hint = isDamaged(error) ? damagedHint : isLocked(error) ? lockedHint : undefined;
  return new MillraceError("degraded", `${what} ${fault}.`, { ...(hint && { hint }), cause: error });
}

const damagedHint =
  "Restart the gateway: it keeps the file under another name and begins a new one. Until then answers flow from memory.";
const lockedHint =
  "End the program that locks it, or wait for its end if it makes a backup. Until then you get answers, but cannot resume them.";

/** Whether the file itself is broken, so that no later try can succeed. */
export function isDamaged(error: unknown): boolean {
  return damaged.has(primaryCode(error) ?? -1);
}

/** Whether another program's lock was in the way for as long as the statement waits. */
export function isLocked(error: unknown): boolean {
  return locked.has(primaryCode(error) ?? -1);
}

function primaryCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** How long a statement waits for another program's lock; ms. Most are held for a moment. */
export const lockTimeoutMs = 2_000;

/** How long a statement waits after one has timed out; ms. */
const onceLockedMs = 50;

/**
 * How long one connection's statements wait for another program's lock. The process does nothing else while one waits. So after
 * a wait timed out, statements wait only 50 ms until a write succeeds. Otherwise a file that stays locked would block the
 * gateway most of the time, although it can serve its answers from memory.
 */
export class LockPatience {
  readonly #database: Pick<DatabaseSync, "exec">;
  readonly #usualMs: number;
  #waitsMs: number;

  /** `usualMs`: the connection's present wait. */
  constructor(database: Pick<DatabaseSync, "exec">, usualMs = lockTimeoutMs) {
    this.#database = database;
    this.#usualMs = usualMs;
    this.#waitsMs = usualMs;
  }

  failed(error: unknown): void {
    if (isLocked(error)) this.#wait(onceLockedMs);
  }

  /** A write succeeded. A read proves nothing, because it succeeds while another program holds the lock. */
  wrote(): void {
    this.#wait(this.#usualMs);
  }

  #wait(ms: number): void {
    if (ms === this.#waitsMs) return;
    this.#database.exec(`PRAGMA busy_timeout = ${ms}`);
    this.#waitsMs = ms;
  }
}
