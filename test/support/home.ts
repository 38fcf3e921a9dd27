import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { processRuns } from "../../src/base/node/process-exists.ts";
import { until } from "../../src/base/wait.fake.ts";
import { holderOf } from "../../src/cli/gateway-process/home.ts";

/** An empty home folder for one test, removed after it. A gateway that a command left there is ended before. */
export function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), "millrace-test-"));
  onTestFinished(async () => {
    const left = holderOf(join(home, ".millrace/gateway.json"));
    if (left?.startedBy === "command" || left?.startedBy === "background") {
      process.kill(left.pid, "SIGTERM");
      await until(() => !processRuns(left.pid));
    }
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  return home;
}

/** Whether this user may mount here. */
export const mounts = process.platform === "linux" && spawnSync("unshare", ["-m", "true"]).status === 0;

/** A program that runs another one where the folder is read-only. */
export function withReadOnly(folder: string): readonly string[] {
  return ["unshare", "-m", "sh", "-c", `mount --bind -o ro ${folder} ${folder} && exec "$0" "$@"`];
}
