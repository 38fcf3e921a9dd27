import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { powershellErrors } from "../../../test/support/powershell.ts";
import { main } from "../main.ts";
import { outlines } from "../outlines.ts";
import { fakeIo } from "../terminal/io.fake.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-completion-"));

async function script(shell: string): Promise<string> {
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", shell], io)).toBe(0);
  return io.written.stdout();
}

const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

/** The words that each shell offers; the cursor is behind the last word typed. */
const cases: readonly (readonly [typed: readonly string[], offered: readonly string[]])[] = [
  [["serv"], ["serve", "service"]],
  [
    ["config", "s"],
    ["schema", "set"],
  ],
  [
    ["serve", "--allow"],
    ["--allow-host", "--allow-origin"],
  ],
  [
    ["serve", "--json", "--store", ""],
    ["memory", "redis", "sqlite"],
  ],
  [["serve", "--store", "m"], ["memory"]],
  [["service", "install", "--d"], ["--dry-run"]],
  [["restart", "--w"], ["--wait"]],
  [["setup", "cod"], ["codex"]],
  [["run", "cod"], ["codex"]],
  [["tail", "2v"], ["2vg9ncb2"]],
  [["chat", "-m", "op"], ["opus"]],
  [["chat", "--model", "op"], ["opus"]],
];

function run(program: string, args: readonly string[]): readonly string[] {
  const { stdout, stderr, status } = spawnSync(program, args, { encoding: "utf8", timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** Line by line, with the candidates of each. */
type Completes = (file: string, lines: readonly (readonly string[])[]) => readonly (readonly string[])[];

/** A program in place of Millrace that lists names as it does. */
const stub =
  'millrace() { case "$*" in *models*) echo "gpt-5.5:high opus";; *turns*) echo 2vg9ncb2;; *) echo codex;; esac; }';

const inBash: Completes = (file, lines) => {
  const code = `${stub}; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace; printf '%s\n' "\${COMPREPLY[@]}"`;
  return lines.map((typed) => run("bash", ["--norc", "-c", code, file, "millrace", ...typed]));
};

/** A zsh on a terminal of its own, in which a key completes the line; each candidate is noted as zsh takes it. */
const zshDriver = String.raw`script=$1 noted=$2 stub=$3
shift 3
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= ; autoload -U compinit; compinit -u -D; source $script; $stub"
zpty -w shell 'compadd() { local -a hits; builtin compadd -O hits "$@"; print -rl -- $hits >> '$noted'; builtin compadd "$@" }'
zpty -w shell 'show() { zle complete-word; print -r -- "<en""d>" }; zle -N show; bindkey "^X" show; print -r -- "<rea""dy>"'
zpty -r shell said '*<ready>*'
for line; do
  zpty -w -n shell "$line"$'\x18'
  zpty -r shell said '*<end>*'
  zpty -w -n shell $'\x15'
  print -- '--' >> $noted
done
zpty -d shell
cat $noted
`;

const inZsh: Completes = (file, lines) => {
  const noted = join(mkdtempSync(join(homeFolder, "zsh-")), "candidates");
  const typed = lines.map((words) => ["millrace", ...words].join(" "));
  const output = run("zsh", ["-f", "-c", zshDriver, "zsh", file, noted, stub, ...typed]).join("\n");
  return output.split(/^--$/m).map((candidates) => candidates.split("\n").filter((line) => line !== ""));
};

const inFish: Completes = (file, lines) =>
  lines.map((typed) => {
    const fishStub =
      "function millrace; switch \"$argv\"; case '*models*'; echo gpt-5.5:high; echo opus; case '*turns*'; echo 2vg9ncb2; case '*'; echo codex; end; end";
    const code = `${fishStub}; source ${file}; complete -C '${["millrace", ...typed].join(" ")}'`;
    return run("fish", ["--no-config", "-c", code]).map((line) => line.replace(/\t.*/, ""));
  });

describe.each([
  ["bash", "bash", inBash],
  ["zsh", "zsh", inZsh],
  ["fish", "fish", inFish],
] as const)("a real %s (skipped where it is not installed)", (shell, program, complete) => {
  test.runIf(has(program))("completes commands, subcommands, options and values", async () => {
    const file = join(homeFolder, `millrace.${shell}`);
    writeFileSync(file, await script(shell));
    const [all = [], ...offered] = complete(file, [[""], ...cases.map(([typed]) => typed)]);
    expect(all).toEqual(expect.arrayContaining(Object.keys(outlines)));
    expect(cases.map(([typed], at) => [typed, offered[at]?.toSorted()])).toEqual(cases);
  });
});

test("PowerShell's script is one by its grammar, and no table has a key twice", async () => {
  const text = await script("powershell");
  expect(await powershellErrors(text)).toEqual([]);
  for (const table of text.split("= @{").slice(1)) {
    const keys = [...(table.split("\n  }")[0] ?? "").matchAll(/^ {4}('[^\n]*?') = /gm)].map(([, key = ""]) =>
      key.toLowerCase(),
    );
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys).size).toBe(keys.length); // PowerShell knows no case, and refuses such a table
  }
  expect(text).toContain("'serve --store' = @(");
});

test("every shell's script knows every command and option", async () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const text = await script(shell);
    for (const name of Object.keys(outlines)) expect(text).toContain(name);
    expect(text).toContain(shell === "fish" ? "-l log-level" : "--log-level");
  }
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", "--list", "clients"], io)).toBe(0);
  expect(io.written.stdout()).toMatch(/^codex$/m);
  expect(await main(["completion", "--list", "turns"], io)).toBe(0); // no gateway runs: nothing to complete
  expect(await main(["completion", "tcsh"], io)).toBe(64);
  expect(io.written.stderr()).toContain("One of: bash, zsh, fish, powershell.");
});
