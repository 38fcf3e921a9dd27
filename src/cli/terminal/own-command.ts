import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Io } from "./output.ts";
import { shellOf } from "./shell.ts";
import { stableNode } from "./stable-node.ts";

type Shell = Pick<Io, "env" | "platform">;

/** This program as it was started: the Node that runs it, and its script. A program in one file is both. */
const started = { node: process.execPath, script: process.argv[1] };

/** Whether a shell finds a program of this name. */
export function isOnPath(name: string, { env, platform }: Shell): boolean {
  const endings = platform === "win32" ? ["", ...(env["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => isProgram(join(folder, name + ending))));
}

/**
 * The words that start Millrace from the user's shell: its name where the shell finds it, else where it stands. They stand in files of
 * clients, so they name a Node that an upgrade leaves in place, if there is one.
 */
export function millraceWords(shell: Shell, { node, script } = started): readonly string[] {
  const own = withoutNpm(shell);
  if (script === undefined || isOnPath("millrace", own)) return ["millrace"];
  return node === script ? [node] : [stableNode(node, { env: own.env }).path, script];
}

/** The same as a command line. */
export function millraceCommand(shell: Shell, from = started): string {
  const words = millraceWords(shell, from);
  return words.length === 1 ? words.join("") : words.map((word) => `"${word}"`).join(" ");
}

/** The command that the user types to run Millrace: in a clone, the script that picks its Node. PowerShell takes a quoted program for a text. */
export function typedCommand(shell: Shell, from = started): string {
  const command = millraceCommand(shell, from);
  const isClone = from.script?.replaceAll("\\", "/").endsWith("/src/cli/bin.ts") === true;
  if (command !== "millrace" && isClone) return "npm run -s millrace --";
  return command.startsWith('"') && shellOf(shell) === "powershell" ? `& ${command}` : command;
}

/** The PATH without the folders that npm adds for the programs that it starts: the user's own shell does not have them. */
export function withoutNpm({ env, platform }: Shell): Shell {
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(delimiter);
  return {
    platform,
    env: { ...env, PATH: folders.filter((folder) => !/node_modules[\\/]\.bin[\\/]?$/.test(folder)).join(delimiter) },
  };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // none, or not for this user
  }
}
