import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { encodeKey, keyBytes, parseKey } from "./keys.ts";

/**
 * The key that seals a gateway's log, read from its file. A missing file is created (0600, its folder 0700), with `known` in it if
 * that is given. Reads before it writes, so that a full or read-only disk costs no existing key.
 *
 * @throws MillraceError `degraded` when the file cannot be read or created, or holds something else. The file is never replaced: data
 * sealed under its key could not be read again.
 */
export async function openLogKey(path: string, known?: Secret): Promise<Secret> {
  return (await heldKey(path)) ?? (await makeKey(path, known ?? encodeKey(randomBytes(keyBytes))));
}

/** The key in the file; undefined where there is no file. */
async function heldKey(path: string): Promise<Secret | undefined> {
  try {
    const held = new Secret((await readFile(path, "utf8")).trim());
    parseKey(held);
    await bestEffort(chmod(path, 0o600)); // a read-only disk keeps its mode
    return held;
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new MillraceError("degraded", `The log's key (${path}) cannot be used.`, {
      hint: "Stop Millrace, put the right key back from a copy, and let only your user read it. Without that key the kept answers cannot be read.",
      cause,
    });
  }
}

async function makeKey(path: string, key: Secret): Promise<Secret> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (await writtenFirst(path, key)) return key;
  } catch (cause) {
    throw new MillraceError("degraded", `The log's key (${path}) cannot be made.`, {
      hint: "Free disk space, or make the folder writable.",
      cause,
    });
  }
  return (await heldKey(path)) ?? makeKey(path, key); // another process was first, and its file went away again
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** Whether the file was not there before. Two processes that start at once agree: one of them writes. */
async function writtenFirst(path: string, key: Secret): Promise<boolean> {
  const whole = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(whole, `${key.reveal()}\n`, { mode: 0o600, flag: "wx" });
    await link(whole, path); // all of it at once, or not at all
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    await bestEffort(rm(whole, { force: true })); // also what a full disk took of it
  }
}
