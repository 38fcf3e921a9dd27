import type { DatabaseSync } from "node:sqlite";
import { isLocked } from "./sqlite-errors.ts";

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
