import { constants, type Stats } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { FileFacts } from "../host/host.ts";

/** Facts of the file at a path, links followed; undefined when it is missing or forbidden. Rejects with the signal's reason. */
export async function readFileFacts(path: string, signal: AbortSignal): Promise<FileFacts | undefined> {
  signal.throwIfAborted();
  try {
    const realPath = await realpath(path);
    const [info, folder] = await Promise.all([stat(realPath), stat(dirname(realPath))]);
    return {
      realPath,
      kind: info.isFile() ? "file" : info.isDirectory() ? "folder" : "other",
      modifiedMs: info.mtimeMs,
      executable: process.platform === "win32" || (await mayRun(realPath)),
      risk: process.platform === "win32" ? undefined : riskOf(info, folder, process.getuid?.() ?? -1),
    };
  } catch {
    return undefined; // missing or forbidden: the caller asks whether it is there, not why not
  }
}

async function mayRun(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false, // it is there, seen above: the mode forbids it
  );
}

type Ownership = Pick<Stats, "uid" | "gid" | "mode">;

/** How another user could change the program that runs when this file is started. Its folder counts too: a file there can be replaced. */
export function riskOf(file: Ownership, folder: Ownership, uid: number): string | undefined {
  if (file.uid !== uid && file.uid !== 0) return "belongs to another user";
  if ((file.mode & 0o002) !== 0) return "can be written by every user";
  if (groupMayWrite(file, uid)) return "can be written by its group";
  if (folder.uid !== uid && folder.uid !== 0) return "lies in a folder of another user";
  if ((folder.mode & 0o002) !== 0 && (folder.mode & 0o1000) === 0) return "lies in a folder that every user can write";
  return undefined;
}

/** A group with the user's own number is that user's alone, as most Linux systems make them; group 0 is the administrator's. */
function groupMayWrite({ mode, gid }: Ownership, uid: number): boolean {
  return (mode & 0o020) !== 0 && gid !== 0 && gid !== uid;
}
