import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty home folder for one test, removed after it. */
export function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), "millrace-test-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  return home;
}

/** Whether this user may mount here. */
export const mounts = process.platform === "linux" && spawnSync("unshare", ["-m", "true"]).status === 0;

/** A program that runs another one where the folder is read-only. */
export function withReadOnly(folder: string): readonly string[] {
  return ["unshare", "-m", "sh", "-c", `mount --bind -o ro ${folder} ${folder} && exec "$0" "$@"`];
}
