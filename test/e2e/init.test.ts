import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleFolder, millrace } from "../support/gateway-process.ts";
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
    expect(shown.stdout).toContain("  2.  Start the gateway in the background\n  3.  Set up Codex");
    expect(shown.stderr).toContain("Nothing was done, because there is no terminal to ask on.");
    expect(existsSync(join(home, ".millrace/gateway.json"))).toBe(false);
    expect((await ide.report()).messages).toEqual([]);

    const done = await millrace(["init", "--yes"], { home, env });
    expect(done).toMatchObject({ code: 0 });
    expect(readFileSync(join(home, ".codex/millrace.config.toml"), "utf8")).toContain("millrace");
    expect((await ide.report()).messages).toHaveLength(1);
    expect(done.stdout).toContain("/#/sign-in/");

    const again = await millrace(["init"], { home, env });
    expect(again.stdout).not.toContain("Start the gateway");
    expect(again.stdout).not.toContain("Set up Codex");
  },
);

test("without an IDE it says what to start, and does nothing", async () => {
  const home = temporaryHome();
  const { code, stdout, stderr } = await millrace(["init"], { home });
  expect(code).toBe(69);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^error: .*\nhint: Start Devin Desktop and open a folder/);
  expect(existsSync(join(home, ".millrace/gateway.json"))).toBe(false);
});

test.runIf(existsSync("/usr/bin/script"))(
  "init on a terminal takes only the steps whose numbers are typed",
  async () => {
    const home = temporaryHome();
    await simulator({ home });
    onTestFinished(async () => void (await millrace(["stop"], { home })));
    mkdirSync(join(home, ".millrace"), { mode: 0o700 });
    writeFileSync(join(home, ".millrace/config.toml"), "[serve]\nport = 0\n");
    const command = [process.execPath, join(bundleFolder(), "bin.js"), "init"].map((word) => `'${word}'`).join(" ");
    const terminal = spawn("script", ["-qefc", command, "/dev/null"], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: "/usr/bin:/bin", HOME: home, MILLRACE_IDE_ONLY_HOME: home, TERM: "xterm", NO_COLOR: "1" },
    });
    let text = "";
    terminal.stdout.on("data", (chunk: Buffer) => {
      const now = `${text}${chunk.toString()}`;
      for (const [asked, answer] of [
        ["numbers of some steps", "1-2"],
        ["How long?", "3"],
        ["to you alone?", "y"],
      ] as const)
        if (!text.includes(asked) && now.includes(asked)) terminal.stdin.write(`${answer}\n`);
      text = now;
    });
    const [code] = (await once(terminal, "close")) as [number];
    expect(code).toBe(0);
    expect(text).toMatch(/Start the gateway in the background\s+Millrace \S+ serves on/);
    expect(text).toContain("Done. What you can type now:");
    expect(text).not.toContain("Open the dashboard\r\nhttp");
    expect(text).toMatch(/ run +start a\s+coding\s+agent\s+on\s+the\s+gateway/);
    expect(existsSync(join(home, ".millrace/gateway.json"))).toBe(true);
    const config = readFileSync(join(home, ".millrace/config.toml"), "utf8");
    for (const line of ['retention = "7d"', 'show_texts = "on"']) expect(config).toContain(`${line}\n`);
    const again = await millrace(["init"], { home });
    expect(again.stdout).not.toContain("how long answers are kept");
  },
);
