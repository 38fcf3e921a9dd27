import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { simulator } from "../support/world.ts";

test.skipIf(process.platform === "win32")(
  "init shows its plan off a terminal, and with --yes carries it out",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home });
    onTestFinished(async () => void (await millrace(["stop"], { home })));
    const bin = join(home, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "codex"), "#!/bin/sh\n", { mode: 0o755 });
    mkdirSync(join(home, ".millrace"), { mode: 0o700 });
    writeFileSync(join(home, ".millrace/config.toml"), "[serve]\nport = 0\n");
    const env = { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };

    const shown = await millrace(["init"], { home, env });
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain("  1. Start the gateway in the background\n  2. Set up Codex");
    expect(shown.stderr).toContain("Nothing was done, because there is no terminal to ask on.");
    expect(existsSync(join(home, ".millrace/gateway.json"))).toBe(false);
    expect((await ide.report()).messages).toEqual([]);

    const done = await millrace(["init", "--yes"], { home, env });
    expect(done).toMatchObject({ code: 0 });
    expect(readFileSync(join(home, ".codex/millrace.config.toml"), "utf8")).toContain("millrace");
    expect((await ide.report()).messages).toHaveLength(1);
    expect(done.stdout).toContain("/sign-in?code=");

    const again = await millrace(["init"], { home, env });
    expect(again.stdout).not.toContain("Start the gateway");
    expect(again.stdout).not.toContain("Set up Codex");
  },
);

test("without an IDE the plan says so, and no question is asked", async () => {
  const home = temporaryHome();
  const { code, stdout } = await millrace(["init"], { home });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^IDE {7}\S/);
  expect(stdout).not.toContain("Ask one question");
});
