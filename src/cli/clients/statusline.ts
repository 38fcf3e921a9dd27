import { existsSync } from "node:fs";
import { join } from "node:path";
import { isOnPath, millraceCommand } from "../terminal/own-command.ts";
import { settingsFile } from "./claude-code.ts";
import { type Client, type FileEdit, inFile, linesIn, type Machine, put, xdgConfig } from "./client.ts";

/**
 * The meter where people look: in Claude Code, tmux and the prompt of the user's shell, each where it is used here. It is a client as
 * the others are: its changes are shown, made and taken back. Sources: Claude Code's settings, `statusLine`; tmux(1), `status-right`;
 * bash(1), PROMPTING; zshmisc(1), `PROMPT_SUBST`.
 */
export const statusline: Client = {
  name: "statusline",
  aliases: ["status-line", "meter"],
  title: "The meter in status lines",
  programs: [],
  isKeyless: true, // it reads the meter, and asks no model
  edits: (_target, _key, machine) => [claudeCode(machine), tmux(machine), prompt(machine)].flat(),
  notes: (_target, _key, env) => [
    "A terminal that is open shows it after its next start. tmux: `tmux source-file ~/.tmux.conf`.",
    ...(shellFile({ env }) === undefined
      ? ["Your shell has no line of its own here: `millrace statusline` prints it."]
      : []),
    "Menu bars and other bars: `millrace help statusline` has their formats.",
  ],
};

const commandOf = (machine: Machine) => `${millraceCommand(machine)} statusline`;

function claudeCode(machine: Machine): readonly FileEdit[] {
  const file = settingsFile(machine);
  if (!isOnPath("claude", machine) && !existsSync(file)) return [];
  const value = { type: "command", command: `${commandOf(machine)} --format claude-code` };
  return [inFile(file, put("statusLine", value))];
}

function tmux(machine: Machine): readonly FileEdit[] {
  const own = join(machine.homeFolder, ".tmux.conf");
  const xdg = join(xdgConfig(machine, "tmux"), "tmux.conf");
  if (!isOnPath("tmux", machine) && !existsSync(own) && !existsSync(xdg)) return [];
  const lines = [
    "set -g status-right-length 120",
    `set -ga status-right ' #(${commandOf(machine)} --format tmux 2>/dev/null)'`,
  ];
  return [linesIn(existsSync(xdg) && !existsSync(own) ? xdg : own, lines)];
}

function prompt(machine: Machine): readonly FileEdit[] {
  const name = shellFile(machine);
  if (name === undefined || machine.platform === "win32") return [];
  const command = `${commandOf(machine)} 2>/dev/null`;
  // zsh reads a % of what a command printed as a sign of its own.
  const lines =
    name === ".zshrc" ? ["setopt PROMPT_SUBST", `RPROMPT='\${$(${command})//[%]/%%}'`] : [`PS1='$(${command}) '"$PS1"`];
  const folder = (name === ".zshrc" && machine.env["ZDOTDIR"]) || machine.homeFolder;
  return [linesIn(join(folder, name), lines)];
}

/** The start-up file of the user's shell, where it has a prompt that can be written. */
function shellFile({ env }: Pick<Machine, "env">): ".bashrc" | ".zshrc" | undefined {
  const shell = env["SHELL"]?.split("/").at(-1);
  if (shell === "zsh") return ".zshrc";
  return shell === "bash" ? ".bashrc" : undefined;
}
