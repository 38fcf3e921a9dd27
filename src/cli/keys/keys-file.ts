import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { readOwnFile, UnusableFile } from "../../base/node/own-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { decodeKeys, encodeKeys, type KeyRecord } from "./key-record.ts";

/** Every key in the file, also the revoked ones. Throws `degraded` where the file is there but cannot be used. */
export function readKeys(file: string): readonly KeyRecord[] {
  let text: string | undefined;
  try {
    text = readOwnFile(file);
  } catch (error) {
    if (error instanceof UnusableFile) throw unusable(file, error.message, error.todo, error);
    throw unusable(file, "it cannot be read", `Look at it: \`ls -l ${file}\`.`, error);
  }
  try {
    return text === undefined ? [] : decodeKeys(text);
  } catch (error) {
    throw unusable(file, "it is damaged", "Put a good copy back.", error);
  }
}

/**
 * Replaces the keys in the file by the result of `change`. No other process changes them meanwhile: two changes at once lose nothing.
 * If `change` throws, nothing changes. Throws `degraded` where the file cannot be used.
 */
export function changeKeys(file: string, change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): void {
  try {
    withFileLock(file, () => replaceFileSync(file, encodeKeys(change(readKeys(file)))));
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw unusable(
      file,
      "it cannot be written",
      "Look at the space on its disk, and at the owner of its folder.",
      error,
    );
  }
}

function unusable(file: string, why: string, todo: string, cause: unknown): MillraceError {
  return new MillraceError("degraded", `The file of the keys (${file}) cannot be used: ${why}.`, {
    hint: `${todo} Until then only the owner's key opens the gateway.`,
    cause,
  });
}
