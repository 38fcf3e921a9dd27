import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { lookAt } from "../../base/node/file-access.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { fileProblem } from "../../base/node/file-problem.ts";
import { fileVersion, readOwnFile, UnusableFile } from "../../base/node/own-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { Secret } from "../../base/secret.ts";

/** The shortest key that is accepted from a file, in characters. */
const minimumLength = 24;

/**
 * The gateway's key: read from its file, or made there at first start (mode 0600, 256 random bits, `mr_…`). Two
 * processes that start at once agree on one key. Throws `degraded` where the file cannot be used.
 */
export function readOrMakeKey(file: string): Secret {
  return readKey(file) ?? makeKey(file);
}

/** The key if there is one. Throws `degraded` where the file is there but cannot be used: another user's, too open, empty, unreadable. */
export function readKey(file: string): Secret | undefined {
  let text: string | undefined;
  try {
    text = readOwnFile(file)?.trim();
  } catch (error) {
    if (error instanceof UnusableFile) throw unusable(file, error.message, error.todo, error);
    throw error;
  }
  if (text !== undefined && text.length < minimumLength)
    throw unusable(file, `it holds fewer than ${minimumLength} characters`, "`millrace keys --new` makes a good one.");
  return text === undefined ? undefined : new Secret(text);
}

/** A new key in place of the old one, which ends. Throws `degraded` where the file cannot be written. */
export function replaceKey(file: string): Secret {
  const key = new Secret(`mr_${randomBytes(32).toString("base64url")}`);
  try {
    replaceFileSync(file, `${key.reveal()}\n`);
  } catch (error) {
    throw unwritable(file, error);
  }
  return key;
}

/** Under a lock: of two processes that start at once, the second one finds the key of the first. */
function makeKey(file: string): Secret {
  try {
    return withFileLock(file, () => readKey(file) ?? replaceKey(file));
  } catch (error) {
    throw isMillraceError(error) ? error : unwritable(file, error);
  }
}

/**
 * The owner's key in a running gateway: the key of the file. A replaced file ends the old key at the next request. While the file is
 * missing or cannot be used, as while the home is moved away, the key stays: nothing is written to its place.
 */
export function followKeyFile(file: string, first: Secret): () => Secret {
  let key = first;
  let seen: string | undefined;
  return () => {
    const version = fileVersion(file);
    if (version === seen && version !== undefined) return key;
    try {
      key = readKey(file) ?? key;
      seen = version;
    } catch {
      seen = version; // `millrace doctor` says why it cannot be used
    }
    return key;
  };
}

function unwritable(file: string, cause: unknown): MillraceError {
  const problem = fileProblem(cause);
  if (problem !== undefined) return problem;
  return unusable(file, "it cannot be written", lookAt(dirname(file)), cause);
}

function unusable(file: string, why: string, hint: string, cause?: unknown): MillraceError {
  return new MillraceError("degraded", `The key file ${file} cannot be used: ${why}.`, { hint, cause });
}
