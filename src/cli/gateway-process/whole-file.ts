import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a file (0600, its folder 0700) so that whoever reads it finds all of it or what was there before. Throws what the
 * file system throws, and leaves nothing of its own then: a full disk still takes names.
 */
export function writeWholeFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
    renameSync(draft, file);
  } catch (error) {
    removeIfThere(draft);
    throw error;
  }
}

/** Removes a file where that can be done. */
export function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // what cannot be written cannot be removed either
  }
}
