import { constants } from "node:fs";
import { link, open } from "node:fs/promises";
import { bestEffort } from "../../base/async.ts";
import { readIfThere } from "../../base/node/durable-file.ts";
import { remove } from "../../base/node/move-file.ts";

/** How long a key is. */
export const recordKeyBytes = 32;

/** A file that holds something else than a key. */
export class NoRecordKey extends Error {
  override readonly name = "NoRecordKey";
}

/**
 * The key that seals the records of a folder: 32 random bytes in a file of mode 0600, created at first use. Processes that start at
 * once agree on one. Throws `NoRecordKey` for a file of another length, and the file system's errors.
 */
export async function readOrMakeRecordKey(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const there = await readKey(path);
  if (there !== undefined) return there;
  const draft = `${path}.${crypto.randomUUID()}.new`;
  const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    await file.writeFile(crypto.getRandomValues(new Uint8Array(recordKeyBytes)));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(draft, path); // fails if another process was first; then its key counts
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // fs throws nothing else
  } finally {
    await bestEffort(remove(draft));
  }
  const made = await readKey(path);
  if (made === undefined) throw new Error(`${path} is gone again`);
  return made;
}

async function readKey(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = await readIfThere(path);
  if (bytes !== undefined && bytes.length !== recordKeyBytes)
    throw new NoRecordKey(`it has ${bytes.length} bytes instead of ${recordKeyBytes}`);
  return bytes;
}
