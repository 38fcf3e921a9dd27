import { open, readFile } from "node:fs/promises";

/** The bytes of a file; undefined if there is no file. */
export async function readIfThere(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined; // fs throws nothing else
    throw error;
  }
}

/** Makes the names in a folder durable, where the system can. */
export async function syncFolder(folder: string): Promise<void> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(folder, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // fs throws nothing else
    if (code === "EISDIR" || code === "EPERM" || code === "EACCES") return; // Windows does not open folders
    throw error;
  }
  try {
    await handle.sync();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // as above
    if (code !== "EINVAL" && code !== "EPERM" && code !== "EISDIR") throw error; // some file systems cannot
  } finally {
    await handle.close();
  }
}
