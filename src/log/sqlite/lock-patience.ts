import type { DatabaseSync } from "node:sqlite";
import { isLocked } from "./sqlite-errors.ts";

/** How long a statement waits for another program's lock; ms. Most are held for a moment. */
export const lockTimeoutMs = 2_000;

/** How long it waits where that was in vain before; ms. */
const onceLockedMs = 50;

/**
 * How long one connection's statements wait for another program's lock. Nothing else runs while one waits: so once that
 * took too long, hardly at all, until a write succeeds. Else a gateway whose file stays locked would stand still for most of
 * the time, beside the memory that its answers flow from.
 */
export class LockPatience {
  readonly #database: Pick<DatabaseSync, "exec">;
  readonly #usualMs: number;
  #waitsMs: number;

  /** `usualMs`: what the connection waits now. */
  constructor(database: Pick<DatabaseSync, "exec">, usualMs = lockTimeoutMs) {
    this.#database = database;
    this.#usualMs = usualMs;
    this.#waitsMs = usualMs;
  }

  failed(error: unknown): void {
    if (isLocked(error)) this.#wait(onceLockedMs);
  }

  /** A write succeeded. Reads do so beside another's lock, and tell nothing. */
  wrote(): void {
    this.#wait(this.#usualMs);
  }

  #wait(ms: number): void {
    if (ms === this.#waitsMs) return;
    this.#database.exec(`PRAGMA busy_timeout = ${ms}`);
    this.#waitsMs = ms;
  }
}
