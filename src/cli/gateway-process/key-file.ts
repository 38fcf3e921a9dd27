import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
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

/** The key if there is one. Throws `degraded` where the file is there but cannot be used: too open, empty, unreadable. */
export function readKey(file: string): Secret | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined; // fs throws nothing else
    throw unusable(file, "it cannot be read", error);
  }
  try {
    const { mode } = fstatSync(descriptor);
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw unusable(file, `others may read it (mode ${(mode & 0o777).toString(8)})`);
    const value = readFileSync(descriptor, "utf8").trim();
    if (value.length < minimumLength) throw unusable(file, `it holds fewer than ${minimumLength} characters`);
    return new Secret(value);
  } finally {
    closeSync(descriptor);
  }
}

function makeKey(file: string): Secret {
  const key = new Secret(`mr_${randomBytes(32).toString("base64url")}`);
  return writeKey(file, key) ? key : (readKey(file) ?? key);
}

/**
 * Writes the key where no file is. Answers false where one is there already: that one counts. Throws `degraded` where the file
 * cannot be written.
 */
function writeKey(file: string, key: Secret): boolean {
  const draft = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const descriptor = openSync(
      draft,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      writeSync(descriptor, `${key.reveal()}\n`);
    } finally {
      closeSync(descriptor);
    }
    chmodSync(draft, 0o600);
    linkSync(draft, file); // fails if another process was first; then its key counts
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && existsSync(file)) return false; // fs throws nothing else
    throw unusable(file, "it cannot be written", error);
  } finally {
    rmSync(draft, { force: true });
  }
  return true;
}

/** How often a running gateway looks for its key's file; ms. A row of docs/retries.md. */
const keepEveryMs = 1_000;

/**
 * Restores a deleted key file while the gateway runs, until the signal aborts. Otherwise a deleted folder would leave a gateway
 * whose key cannot be looked up. An existing file is not changed. Never rejects.
 */
export async function keepKeyFile(file: string, key: Secret, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await bestEffort(clock.sleep(keepEveryMs, signal));
    if (signal.aborted || existsSync(file)) continue;
    try {
      writeKey(file, key);
    } catch {
      // a disk without room, or a folder that is not writable: the next look tries again
    }
  }
}

/** Reads the file's key when asked, at most once a second: for a gateway that is shown a key that it does not know. */
export function keyInFile(file: string, clock: Clock): () => Secret | undefined {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let known: Secret | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (nowMs - readAtMs < keepEveryMs) return known;
    readAtMs = nowMs;
    try {
      known = readKey(file);
    } catch {
      known = undefined; // a file that others may read, or that holds nothing: it opens nothing
    }
    return known;
  };
}

function unusable(file: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError("degraded", `The key file ${file} cannot be used: ${why}.`, {
    hint: `Run \`chmod 600 ${file}\`. If it holds no key, restore the right one: the gateway rejects every other key.`,
    cause,
  });
}
