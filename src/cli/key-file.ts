import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { MillraceError } from "../base/errors.ts";
import { Secret } from "../base/secret.ts";

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
  const value = `mr_${randomBytes(32).toString("base64url")}`;
  const draft = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const descriptor = openSync(
      draft,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      writeSync(descriptor, `${value}\n`);
    } finally {
      closeSync(descriptor);
    }
    chmodSync(draft, 0o600);
    linkSync(draft, file); // fails if another process was first; then its key counts
  } catch (error) {
    const theirs = (error as NodeJS.ErrnoException).code === "EEXIST" ? readKey(file) : undefined; // fs throws nothing else
    if (theirs !== undefined) return theirs;
    throw unusable(file, "it cannot be written", error);
  } finally {
    rmSync(draft, { force: true });
  }
  return new Secret(value);
}

function unusable(file: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError("degraded", `The key file ${file} cannot be used: ${why}.`, {
    hint: `Run \`chmod 600 ${file}\`, or delete it and a new key is made.`,
    cause,
  });
}
