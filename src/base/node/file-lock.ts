import { existsSync, linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { systemClock } from "../clock.ts";
import { isHeld, moveFileSync, removeIfThere, removeSync } from "./move-file.ts";
import { ownProcess, readOwner, spellOwner, stateOfOwner } from "./process-owner.ts";

/** How long a lock of another process is waited for, and how often it is tried; ms. */
const waitMs = 5_000;
const againMs = 20;

/**
 * Runs `work` while no other process works under the lock of this file, and returns its result. For short work on small files: it
 * blocks the process. A lock whose process is gone is taken over, and so is one of another
 * machine that is a minute old.
 *
 * @throws Error when another process keeps the lock for five seconds, and the errors of the file system and of `work`.
 */
export function withFileLock<T>(file: string, work: () => T): T {
  const lock = `${file}.lock`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const mine = `${spellOwner(ownProcess())} ${crypto.randomUUID()}`;
  const untilMs = performance.now() + waitMs;
  while (!taken(lock, mine)) {
    const holder = textOf(lock);
    if (holder !== undefined && isLeft(lock, holder)) takeAway(lock, holder);
    else if (performance.now() > untilMs) throw new Error(`another process keeps ${lock}`);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, againMs);
  }
  try {
    return work();
  } finally {
    removeSync(lock);
  }
}

/** No work under a lock takes so long; ms. */
const oldMs = 60_000;

/** Whether nobody works under the lock: its process has ended, or it is old and nothing here can tell. */
function isLeft(lock: string, holder: string): boolean {
  const owner = readOwner(holder);
  const state = owner === undefined ? "elsewhere" : stateOfOwner(owner);
  if (state !== "elsewhere") return state === "gone";
  const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  return made !== undefined && systemClock.now() - made > oldMs;
}

/** The lock appears with its content, so that no process takes it for an old lock that was left behind. */
function taken(lock: string, mine: string): boolean {
  const draft = `${lock}.${crypto.randomUUID()}`;
  try {
    writeFileSync(draft, mine, { mode: 0o600, flag: "wx" }); // a full disk makes the file and writes nothing
    linkSync(draft, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false; // of the lock: no other file has the draft's name
    if (existsSync(draft) && isHeld(error)) return false; // Windows is removing the lock, and somebody still reads it
    throw error;
  } finally {
    removeIfThere(draft);
  }
}

/** Removes the lock of a process that is gone. If another process was faster and has its own lock there, that one is put back. */
function takeAway(lock: string, holder: string): void {
  const aside = `${lock}.${crypto.randomUUID()}`;
  try {
    moveFileSync(lock, aside);
    if (textOf(aside) !== holder) linkSync(aside, lock);
  } catch {
    // it is gone, or a third process has taken it: the next try shows
  } finally {
    removeIfThere(aside);
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
