import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { gateway } from "../support/world.ts";

/** An open file cannot be taken away on Windows. */
test.skipIf(process.platform === "win32")(
  "after its folder was deleted, `millrace keys --value` shows a new key that the running gateway takes at once, and the old key ends",
  async () => {
    const home = temporaryHome();
    const running = await gateway({ home });
    rmSync(join(home, ".millrace"), { recursive: true });
    const command = ["--no-warnings", "src/cli/bin.ts", "keys", "--value"];
    const env = { ...process.env, HOME: home, USERPROFILE: home };
    const { stdout } = await promisify(execFile)(process.execPath, command, { env });
    expect(stdout.trim()).not.toBe(running.key);
    const status = async (key: string) =>
      (await fetch(`${running.url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status(stdout.trim())).toBe(200);
    expect(await status(running.key)).toBe(401);
  },
);
