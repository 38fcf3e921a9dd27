import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { RpcFault } from "../../simulator/index.ts";
import { millrace } from "../support/gateway-process.ts";
import { mounts, temporaryHome, withReadOnly } from "../support/home.ts";
import { simulator } from "../support/world.ts";

/** A home in which an IDE runs, and Millrace was used: a gateway in the background, a client set up, one question. */
async function usedHome(faults: readonly RpcFault[] = []) {
  const home = temporaryHome();
  await simulator({ home, turn: { rate: "instant" }, faults: [...faults] });
  onTestFinished(async () => void (await millrace(["stop"], { home })));
  const before = filesIn(home);
  const bin = temporaryHome();
  writeFileSync(join(bin, "codex"), "#!/bin/sh\n", { mode: 0o755 });
  mkdirSync(join(home, ".millrace"), { mode: 0o700 });
  writeFileSync(join(home, ".millrace/config.toml"), "[serve]\nport = 0\n");
  const env = { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`, NODE_COMPILE_CACHE: "" };
  const run = (...words: readonly string[]) => millrace(words, { home, env });
  expect(await run("init", "--yes")).toMatchObject({ code: 0 });
  expect(existsSync(join(home, ".codex"))).toBe(true);
  expect(existsSync(join(home, ".cache/millrace"))).toBe(true);
  return { home, before, run };
}

const filesIn = (home: string) => readdirSync(home, { recursive: true }).map(String).toSorted();

test("uninstall shows its plan, and with --yes leaves a home as it was before Millrace", async () => {
  const { home, before, run } = await usedHome();
  const shown = await run("uninstall");
  expect(shown).toMatchObject({ code: 64, stderr: expect.stringContaining("Nothing was removed") });
  expect(shown.stdout).toMatch(
    /Stop the gateway at http.*\n.*settings of codex\n.*Delete 1 conversation .*\n.*\.millrace/,
  );
  expect(existsSync(join(home, ".millrace/gateway.json"))).toBe(true);

  const done = await run("uninstall", "--yes");
  expect(done).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("\nRemoved.\n") });
  const cascadeFolder = join(".codeium", "windsurf", "cascade"); // the IDE made it
  expect(filesIn(home).filter((file) => file !== cascadeFolder)).toEqual(
    before.filter((file) => file !== cascadeFolder),
  );
});

test("uninstall names the conversations that the IDE does not delete, and keeps their list and files that are not its own", async () => {
  const { home, run } = await usedHome([{ rpc: "DeleteCascadeTrajectory", missing: true }]);
  writeFileSync(join(home, ".millrace/notes.txt"), "mine");
  const done = await run("uninstall", "--yes");
  const cascades = join(home, ".codeium/windsurf/cascade");
  const [conversation = ""] = readdirSync(cascades);
  expect(done.code).toBe(1);
  expect(done.stdout).toContain(`  ${join(cascades, conversation)}: This build of the IDE does not support`);
  expect(done.stdout).toContain(`${join(home, ".millrace/notes.txt")}: not a file of Millrace`);
  expect(readdirSync(join(home, ".millrace")).toSorted()).toEqual(["cascades.jsonl", "notes.txt"]);
  expect(readFileSync(join(home, ".millrace/cascades.jsonl"), "utf8")).toContain(conversation.replace(".pb", ""));

  rmSync(join(home, ".millrace/notes.txt"));
  expect((await run("uninstall", "--yes")).code).toBe(1);
});

test("uninstall ends a gateway that is suspended, and needs no key file that it would refuse", async () => {
  const { home, run } = await usedHome();
  const folder = join(home, ".millrace");
  const { pid, url } = JSON.parse(readFileSync(join(folder, "gateway.json"), "utf8")) as {
    readonly pid: number;
    readonly url: string;
  };
  process.kill(pid, "SIGSTOP");
  const hangs = await run("uninstall"); // only the plan
  expect(hangs.stdout).toContain("Stop the gateway at http");

  chmodSync(join(folder, "key"), 0o644);
  const done = await run("uninstall", "--yes");
  expect(done).toMatchObject({ code: 0, stderr: "" });
  await expect(fetch(url)).rejects.toThrow("fetch failed");
  expect([folder, join(home, ".codex"), join(home, ".cache/millrace")].filter((path) => existsSync(path))).toEqual([]);
});

test.runIf(mounts)("uninstall in a read-only home names each file that stays, and is no bug", async () => {
  const { home } = await usedHome();
  const done = await millrace(["uninstall", "--yes"], { home, under: withReadOnly(home) });
  expect(done).toMatchObject({ code: 1, stderr: "" });
  for (const left of [".millrace/key", ".millrace/config.toml", ".cache/millrace", ".codex"])
    expect(done.stdout).toMatch(new RegExp(`${home}/${left}.* cannot be written: the disk is read-only`));
  expect(done.stdout).not.toMatch(/not a file of Millrace|Something went wrong/);
});

test("an empty HOME is not the working folder", async () => {
  const { stdout } = await millrace(["config", "path"], { home: "" });
  expect(isAbsolute(stdout.trim())).toBe(true);
});
