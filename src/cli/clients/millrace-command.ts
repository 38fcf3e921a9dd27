import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Machine } from "./client.ts";

type Shell = Pick<Machine, "env" | "platform">;

/** This program as it was started: the Node that runs it, and its script. */
const started = { node: process.execPath, script: process.argv[1] };

/** Whether a shell finds a program of this name. */
export function isOnPath(name: string, { env, platform }: Shell): boolean {
  const endings = platform === "win32" ? ["", ...(env["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => isProgram(join(folder, name + ending))));
}

/** A command line that starts Millrace from the user's shell: its name where the shell finds it, else where it stands. */
export function millraceCommand(shell: Shell, { node, script } = started): string {
  if (script === undefined || isOnPath("millrace", shell)) return "millrace";
  return `"${node}" "${script}"`;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // none, or not for this user
  }
}
