import { mkdtempSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import process from "node:process";

/** The name of this process' user; "" where the system has none for it, as in many containers. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "";
  }
}

/**
 * Makes HOME name a folder for this process and all that it starts, by its whole path. An empty one would name the working folder. A user whom
 * the system does not know has no home: container runtimes set `/` then, and so does this.
 */
export function settleHome(env: Record<string, string | undefined>): void {
  if (env["HOME"] === "") delete env["HOME"];
  for (const name of ["HOME", "MILLRACE_HOME"]) {
    const folder = env[name] ?? "";
    if (folder !== "" && !isAbsolute(folder)) env[name] = resolve(folder);
  }
  try {
    homedir();
  } catch {
    env["HOME"] = "/";
  }
}

/** A new folder for temporary files. It stands in `/tmp` if TMPDIR names a folder that cannot be used. */
export function makeTemporaryFolder(prefix: string): string {
  try {
    return mkdtempSync(join(tmpdir(), prefix));
  } catch (error) {
    if (process.platform === "win32") throw error;
    return mkdtempSync(join("/tmp", prefix));
  }
}
