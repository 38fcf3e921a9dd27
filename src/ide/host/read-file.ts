import { open, readdir, stat } from "node:fs/promises";

/** A text file of at most `maxBytes`; undefined when it is missing, forbidden, longer, or no ordinary file. Rejects with the signal's reason. */
export async function readTextFile(path: string, maxBytes: number, signal: AbortSignal): Promise<string | undefined> {
  signal.throwIfAborted();
  try {
    const info = await stat(path); // before opening: to open a named pipe is to wait for its writer
    if (!info.isFile() || info.size > maxBytes) return undefined;
    const file = await open(path, "r");
    try {
      return await file.readFile({ encoding: "utf8" });
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // missing or forbidden: the caller asks whether it is there, not why not
  }
}

/** Names in a folder, sorted; empty when it is missing or forbidden. */
export async function readFolder(path: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  try {
    return (await readdir(path)).sort();
  } catch {
    return []; // as above
  }
}
