import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { decodeKeys, encodeKeys, type KeyRecord } from "./key-record.ts";
import type { KeyStore } from "./key-store.ts";

/** The keys of one machine, in a file that only its user may read. */
export function openKeysFile(file: string): KeyStore {
  return {
    read: async () => readKeys(file),
    change: async (change) => changeKeys(file, change),
    close: async () => {},
  };
}

/** Every key in the file, also the revoked ones. Throws `degraded` where the file is there but cannot be used. */
export function readKeys(file: string): readonly KeyRecord[] {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // fs throws nothing else
    throw unusable(file, "it cannot be read", error);
  }
  try {
    const { mode } = fstatSync(descriptor);
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw unusable(file, `others may read it (mode ${(mode & 0o777).toString(8)})`);
    return parse(file, readFileSync(descriptor, "utf8"));
  } finally {
    closeSync(descriptor);
  }
}

/** Changes whenever the file is replaced. */
export function versionOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.size}`;
}

function parse(file: string, text: string): readonly KeyRecord[] {
  try {
    return decodeKeys(text);
  } catch (error) {
    throw unusable(file, "it is damaged", error);
  }
}

/** No other process changes the file meanwhile. Throws `degraded` where it cannot be used. */
function changeKeys(file: string, change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): readonly KeyRecord[] {
  try {
    return withFileLock(file, () => {
      const keys = change(readKeys(file));
      replaceFileSync(file, encodeKeys(keys));
      return keys;
    });
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw unusable(file, "it cannot be written", error);
  }
}

function unusable(file: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError("degraded", `The file of the keys (${file}) cannot be used: ${why}.`, {
    hint: `Run \`chmod 600 ${file}\`, or put a good copy back. Until then only the owner's key opens the gateway.`,
    cause,
  });
}
