import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { gateway } from "../support/world.ts";

/** An open file cannot be taken away on Windows. */
test.skipIf(process.platform === "win32")(
  "`millrace key --value` shows a key that the running gateway takes, at once after its folder was deleted",
  async () => {
    const home = temporaryHome();
    const running = await gateway({ home });
    rmSync(join(home, ".millrace"), { recursive: true });
    const command = ["--no-warnings", "src/cli/bin.ts", "key", "--value"];
    const env = { ...process.env, HOME: home, USERPROFILE: home };
    const { stdout } = await promisify(execFile)(process.execPath, command, { env });
    const keys = [stdout.trim(), running.key]; // the new one, or the one that came back; and the one that clients have
    for (const key of keys) {
      const response = await fetch(`${running.url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } });
      expect(response.status).toBe(200);
    }
  },
);
