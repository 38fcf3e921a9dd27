import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../main.ts";
import { outlines } from "../outlines.ts";
import { fakeIo } from "../terminal/io.fake.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-completion-"));

async function script(shell: string): Promise<string> {
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", shell], io)).toBe(0);
  return io.written.stdout();
}

const hasBash = spawnSync("bash", ["--version"]).status === 0;

test.runIf(hasBash)("a real bash completes commands, subcommands, options and values", async () => {
  const file = join(homeFolder, "millrace.bash");
  writeFileSync(file, await script("bash"));
  const completed = (...words: readonly string[]) => {
    const typed = ["millrace", ...words];
    const code = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", code, file, ...typed], { encoding: "utf8" });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((line) => line !== "");
  };
  expect(completed("")).toEqual(expect.arrayContaining(Object.keys(outlines)));
  expect(completed("serv")).toEqual(["serve", "service"]);
  expect(completed("config", "s")).toEqual(["set", "schema"]);
  expect(completed("serve", "--log-f")).toEqual(["--log-format", "--log-file"]);
  expect(completed("serve", "--json", "--store", "")).toEqual(["sqlite", "redis", "memory"]);
  expect(completed("serve", "--store", "m")).toEqual(["memory"]);
  expect(completed("service", "install", "--d")).toEqual(["--dry-run"]);
});

test("every shell's script knows every command and option", async () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const text = await script(shell);
    for (const name of Object.keys(outlines)) expect(text).toContain(name);
    expect(text).toContain(shell === "fish" ? "-l log-format" : "--log-format");
  }
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", "tcsh"], io)).toBe(64);
  expect(io.written.stderr()).toContain("One of: bash, zsh, fish, powershell.");
});
