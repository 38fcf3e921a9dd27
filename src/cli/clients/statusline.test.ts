import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { home, program } from "../commands/setup-home.fake.ts";

const places = [".claude/settings.json", ".tmux.conf", ".bashrc"];

it("the meter is set up in Claude Code, tmux and the shell's prompt, and taken back without a trace", async () => {
  const at = await home();
  at.write(".claude/settings.json", '{ "theme": "dark" }\n');
  at.write(".bashrc", "PS1='$ '\n");
  program(at.homeFolder, "tmux");
  const env = { SHELL: "/bin/bash" };
  expect((await at.millrace(["setup", "statusline", "--yes"], env)).code).toBe(0);
  expect(JSON.parse(at.read(".claude/settings.json"))).toEqual({
    theme: "dark",
    statusLine: { type: "command", command: "millrace statusline --format claude-code" },
  });
  expect(at.read(".tmux.conf")).toContain("set -ga status-right ' #(millrace statusline --format tmux 2>/dev/null)'");
  const shown = 'millrace() { echo "Devin daily 62%"; }; . ~/.bashrc; printf "%s" "${PS1@P}"';
  const prompt = execFileSync("bash", ["--norc", "-c", shown], { env: { HOME: at.homeFolder, PATH: "/usr/bin:/bin" } });
  expect(String(prompt)).toBe("Devin daily 62% $ ");
  expect((await at.millrace(["setup", "statusline", "--undo", "--yes"], env)).code).toBe(0);
  expect([at.read(".claude/settings.json"), at.read(".bashrc")]).toEqual(['{ "theme": "dark" }\n', "PS1='$ '\n"]);
  expect(existsSync(at.file(".tmux.conf"))).toBe(false);
});

it("the meter is set up only where it can be seen, and zsh gets a % that zsh does not read", async () => {
  const at = await home();
  const gone = { MILLRACE_MODEL: "removed" };
  expect((await at.millrace(["setup", "codex", "--yes"], gone)).code).not.toBe(0);
  const set = await at.millrace(["setup", "statusline", "--yes"], { SHELL: "/usr/bin/zsh", ...gone });
  expect(set.code).toBe(0);
  expect(places.map((name) => existsSync(at.file(name)))).toEqual([false, false, false]);
  expect(at.read(".zshrc")).toContain("RPROMPT='${$(millrace statusline 2>/dev/null)//[%]/%%}'");
});
