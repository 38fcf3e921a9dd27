import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { moveFile, moveFileSync, removeIfThere } from "./move-file.ts";

// Not `write-file-atomic`: it hooks the exit of its process, which here may be a user's own program or test.

const ownersOnly = 0o600;

export interface ReplaceOptions {
  /** 0600 by default. */
  readonly mode?: number;
  /** Flushes the content before it takes the file's place. The name is durable once the folder is flushed too. */
  readonly flush?: boolean;
  /** Where the content stands meanwhile, beside the file; a fixed name by default, for files that one process writes at a time. */
  readonly draft?: string;
}

/** Replaces a file in one step: a reader, or a crash, finds the old content or the new. Throws the file system's errors. */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode = ownersOnly, flush = false, draft = `${path}.new` }: ReplaceOptions = {},
): Promise<void> {
  try {
    const file = await open(draft, "w", mode);
    try {
      if (mode !== ownersOnly) await file.chmod(mode); // the process may mask some of it
      await file.writeFile(content);
      if (flush) await file.sync();
    } finally {
      await file.close();
    }
    await moveFile(draft, path);
  } catch (error) {
    removeIfThere(draft);
    throw error;
  }
}

/** The same for callers that cannot wait, from any number of processes; makes the folder (0700) where it is missing. */
export function replaceFileSync(path: string, text: string, mode = ownersOnly): void {
  const draft = `${path}.${crypto.randomUUID()}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(draft, text, { mode, flag: "wx" });
    if (mode !== ownersOnly) chmodSync(draft, mode);
    moveFileSync(draft, path);
  } catch (error) {
    removeIfThere(draft);
    throw error;
  }
}
