import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { encodeKey, keyBytes, parseKey } from "./keys.ts";

/**
 * The key that seals a gateway's log: read from its file, which is made (0600, its folder 0700) where there is none, with
 * `known` in it if that is given.
 *
 * @throws MillraceError `degraded` when the file cannot be read or made, or holds something else. It is never replaced:
 * what was sealed under it could not be read again.
 */
export async function openLogKey(path: string, known?: Secret): Promise<Secret> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const made = known ?? encodeKey(randomBytes(keyBytes));
    if (await writtenFirst(path, made)) return made;
    await chmod(path, 0o600);
    const held = new Secret((await readFile(path, "utf8")).trim());
    parseKey(held);
    return held;
  } catch (cause) {
    if (!existsSync(path))
      throw new MillraceError("degraded", `The log's key (${path}) cannot be made.`, {
        hint: "Make room on its disk, or let its folder be written to.",
        cause,
      });
    throw new MillraceError("degraded", `The log's key (${path}) cannot be used.`, {
      hint: "Move the file away to begin with a new key; what was sealed with the old one is lost then.",
      cause,
    });
  }
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
