import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasFileModes } from "../support/file-mode.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, simulator } from "../support/world.ts";

/** Root may read every file, unless it gives up the right to. */
const under =
  process.getuid?.() === 0 ? { under: ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] as const } : {};

/** A home whose gateway ran, with each file that a user may find closed after a copy or a `sudo`. */
async function usedHome() {
  const home = temporaryHome();
  await simulator({ home });
  const served = await gateway({ home });
  const run = (...args: readonly string[]) => millrace(args, { home, ...under });
  await run("keys", "create", "nightly");
  await run("chat", "Hello");
  await run("config", "set", "serve.port", "0");
  return { home, served, run };
}

/** Runs commands while nobody may use the file. */
async function whileClosed<T>(file: string, use: () => Promise<T>): Promise<T> {
  const { mode } = statSync(file);
  chmodSync(file, 0);
  try {
    return await use();
  } finally {
    chmodSync(file, mode);
  }
}

type Row = readonly [name: string, commands: readonly string[], why: (file: string) => string];
const closed = (file: string) => `${file} cannot be read: you may not read it`;
const rows: readonly Row[] = [
  ["key", ["status", "doctor", "keys", "chat Hello"], (file) => `${file} cannot be used: you may not read it`],
  ["keys.json", ["status", "doctor", "keys"], (file) => `(${file}) cannot be used: you may not read it`],
  ["log-key", ["doctor"], (file) => `(${file}) cannot be used: you may not read it`],
  ["gateway.json", ["status", "doctor", "tail --list", "chat Hello", "serve --accept", "stop"], closed],
  ["config.toml", ["doctor", "config get serve.retention"], (file) => `${file}: you may not read it`],
  ["cascades.jsonl", ["doctor", "doctor --conversations"], closed],
  ["turns.db", ["doctor"], (file) => `${file} cannot be read: you may not read it`],
];

describe.skipIf(!hasFileModes)("a file that its user may not use", () => {
  test("is named by each command that needs it, with the reason and the line to type", async () => {
    const { home, run } = await usedHome();
    for (const [name, commands, why] of rows) {
      const file = join(home, ".millrace", name);
      expect([name, existsSync(file)]).toEqual([name, true]);
      await whileClosed(file, async () => {
        for (const command of commands) {
          const { code, stdout, stderr } = await run(...command.split(" "));
          expect(`${command}: ${stdout}${stderr}`).toContain(why(file));
          expect(`${command}: ${stdout}${stderr}`).toContain(`Run \`chmod u+rwX ${file}\`.`);
          expect(`${command}: ${stdout}${stderr}`).not.toMatch(
            /bug in Millrace|you may not write|cannot be written|    at /,
          );
          expect([command, code]).not.toEqual([command, 70]);
        }
      });
    }
    const { stdout } = await run("status");
    expect(stdout).not.toContain("cannot be");
  });

  test("ends no gateway that runs, and a new one keeps answers in memory and says why in `status`", async () => {
    const { home, served, run } = await usedHome();
    const folder = join(home, ".millrace");
    await whileClosed(join(folder, "gateway.json"), () =>
      whileClosed(join(folder, "turns.db"), async () => {
        await expect(fetch(`${served.url}/health`)).resolves.toMatchObject({ status: 200 });
      }),
    );
    await served.stop();
    const file = join(folder, "turns.db");
    await whileClosed(file, async () => {
      await run("serve", "--background", "--accept");
      const { stdout } = await run("status");
      expect(stdout).toMatch(/^store +New answers are in memory only\./m);
      expect(stdout).toContain(`${file} cannot be read: you may not read it. Run \`chmod u+rwX ${file}\`.`);
      await run("stop");
    });
  });

  test("may be the whole home: doctor and status say so and go on", async () => {
    const { home, served, run } = await usedHome();
    await served.stop();
    const folder = join(home, ".millrace");
    await whileClosed(folder, async () => {
      for (const command of ["doctor", "status"]) {
        const { code, stdout, stderr } = await run(command);
        expect(`${command}: ${stderr}`).toBe(`${command}: `);
        expect([command, code]).not.toEqual([command, 0]);
        expect(stdout).toContain(`Run \`chmod u+rwX ${folder}\`.`);
        expect(stdout).toContain("Windsurf");
      }
    });
  });

  test("is told as itself by `logs`, not as missing", async () => {
    const { home, served, run } = await usedHome();
    await served.stop();
    await run("serve", "--background", "--accept");
    const logs = join(home, ".millrace/logs");
    const { stderr } = await whileClosed(logs, () => run("logs"));
    await run("stop");
    expect(stderr).toContain(`${join(logs, "gateway.log")} cannot be read: you may not enter ${logs}.`);
  });
});
