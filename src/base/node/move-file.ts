import { renameSync, unlinkSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

// The only place that renames and removes files; lint holds it. Windows refuses both while another process has the file open: a second
// command of ours, an editor, a virus scanner. That ends in a moment, so it is tried again for 1.5 s. Other systems refuse for good.

const waitsMs = [10, 20, 50, 100, 200, 400, 700];
const heldCodes: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY", "ENOTEMPTY"]);

/** Whether Windows refused because another process has the file open, as far as the error shows. */
export function isHeld(error: unknown, platform: string = process.platform): boolean {
  return platform === "win32" && heldCodes.has((error as NodeJS.ErrnoException).code); // fs throws nothing else
}

/** Renames a file, also over another one. Throws the file system's errors. */
export async function moveFile(from: string, to: string): Promise<void> {
  await whenFree(() => rename(from, to));
}

/** The same for callers that cannot wait: on Windows it may block for 1.5 s. */
export function moveFileSync(from: string, to: string): void {
  whenFreeSync(() => renameSync(from, to));
}

/** Removes a file if it is there; `recursive` also a folder with all that is in it. Throws the file system's errors. */
export async function remove(path: string, { recursive = false } = {}): Promise<void> {
  await whenFree(() => rm(path, { recursive, force: true }));
}

/** The same of a file, for callers that cannot wait: on Windows it may block for 1.5 s. */
export function removeSync(file: string): void {
  whenFreeSync(() => {
    try {
      unlinkSync(file); // errors of `rmSync` have no code in Node 22
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // fs throws nothing else
    }
  });
}

/** Removes a file where that can be done. */
export function removeIfThere(file: string): void {
  try {
    removeSync(file);
  } catch {
    // a file that cannot be written cannot be removed either
  }
}

/** Does the work, on Windows again while another process has the file open. Throws the last error. */
export async function whenFree(work: () => Promise<void>, platform?: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      await setTimeout(pauseAfter(error, tries, platform));
    }
  }
}

/** The same for work that cannot wait. */
export function whenFreeSync(work: () => void, platform?: string): void {
  for (let tries = 0; ; tries++) {
    try {
      return work();
    } catch (error) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseAfter(error, tries, platform));
    }
  }
}

/** How long to wait before the next try; ms. Throws the error where there is none. */
function pauseAfter(error: unknown, tries: number, platform: string | undefined): number {
  const pauseMs = waitsMs[tries];
  if (pauseMs === undefined || !isHeld(error, platform)) throw error;
  return pauseMs;
}
