import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { powershellErrors } from "../../../test/support/powershell.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-completion-"));

async function script(shell: string): Promise<string> {
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", shell], io)).toBe(0);
  return io.written.stdout();
}

const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

/** The words that can follow; the last one typed is not complete, and a shell leaves out what does not begin with it. */
test.each<readonly [typed: readonly string[], offered: readonly string[]]>([
  [["serv"], ["serve", "service"]],
  [["config", "s"], ["set"]],
  [
    ["serve", "--allow"],
    ["--allow-host", "--allow-origin"],
  ],
  [
    ["serve", "--json", "--store", ""],
    ["sqlite", "memory", "redis"],
  ],
  [["service", "un"], ["uninstall"]],
  [["restart", "--w"], ["--wait"]],
  [["setup", "cod"], ["codex"]],
  [["run", "cod"], ["codex"]],
])("%j is completed by %j", async (typed, offered) => {
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", "words", "--", ...typed.slice(0, -1)], io)).toBe(0);
  const words = io.written
    .stdout()
    .split("\n")
    .filter((word) => word !== "" && word.startsWith(typed.at(-1) ?? ""));
  expect(words.toSorted()).toEqual(offered.toSorted());
});

/** What each shell offers of the words that the stub prints, one of which tells what it was asked. */
const cases: readonly (readonly [typed: readonly string[], offered: readonly string[]])[] = [
  [["s"], ["s_0", "serve", "service"]],
  [
    ["serve", "--store", "s"],
    ["s_2_serve_--store", "serve", "service"],
  ],
  [["serve", "--store", "v"], ["vault"]],
];

function run(program: string, args: readonly string[]): readonly string[] {
  const { stdout, stderr, status } = spawnSync(program, args, { encoding: "utf8", timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** Line by line, with the candidates of each. */
type Completes = (file: string, lines: readonly (readonly string[])[]) => readonly (readonly string[])[];

/** A program in place of Millrace. */
const stub = 'millrace() { shift 3; local IFS=_; local n=$#; printf "%s\\n" serve service vault "s_$n${1:+_$*}"; }';

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
      "function millrace; set -l typed $argv[4..-1]; printf '%s\\n' serve service vault (string join -- _ s (count $typed) $typed); end";
    const code = `${fishStub}; source ${file}; complete -C '${["millrace", ...typed].join(" ")}'`;
    return run("fish", ["--no-config", "-c", code]).map((line) => line.replace(/\t.*/, ""));
  });

describe.each([
  ["bash", "bash", inBash],
  ["zsh", "zsh", inZsh],
  ["fish", "fish", inFish],
] as const)("a real %s (skipped where it is not installed)", (shell, program, complete) => {
  test.runIf(has(program))("asks for the words that can follow, and offers those that fit", async () => {
    const file = join(homeFolder, `millrace.${shell}`);
    writeFileSync(file, await script(shell));
    const offered = complete(
      file,
      cases.map(([typed]) => typed),
    );
    expect(cases.map(([typed], at) => [typed, offered[at]?.toSorted()])).toEqual(cases);
  });
});

test("PowerShell's script is one by its grammar, and another shell is refused with the names of those that are known", async () => {
  expect(await powershellErrors(await script("powershell"))).toEqual([]);
  const io = fakeIo({ homeFolder });
  expect(await main(["completion", "tcsh"], io)).toBe(64);
  expect(io.written.stderr()).toContain("One of: bash, zsh, fish, powershell.");
});
