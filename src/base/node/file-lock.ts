import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { takeLock } from "./system-lock.ts";

/** How long a lock of another process is waited for; ms. */
const waitMs = 5_000;

/**
 * Runs `work` while no other process works under the lock of this file, and returns its result. For short work on small files: it
 * blocks the process. The lock is a file beside it, which stays.
 *
 * @throws Error when another process keeps the lock for five seconds, and the errors of the file system and of `work`.
 */
export function withFileLock<T>(file: string, work: () => T): T {
  const lock = `${file}.held`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const giveBack = takeLock(lock, waitMs);
  if (giveBack === undefined) throw new Error(`another process keeps ${lock}`);
  try {
    return work();
  } finally {
    giveBack();
  }
}
