import { statSync } from "node:fs";
import { win32 } from "node:path";
import process from "node:process";
import { MillraceError } from "../errors.ts";

/** A program and its arguments as `spawn` takes them. */
export interface Startable {
  readonly command: string;
  readonly args: readonly string[];
  /** Windows: the arguments are quoted already, and `spawn` must not quote them again. */
  readonly windowsVerbatimArguments: boolean;
}

export interface System {
  /** Where programs are looked for: `PATH` and `PATHEXT`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform?: NodeJS.Platform;
  readonly isFile?: (path: string) => boolean;
}

const usualEndings = ".COM;.EXE;.BAT;.CMD";

/**
 * The form of a command that `spawn` can start. Only Windows needs another one: npm installs programs as `.cmd` files there, which only
 * the shell can start. Arguments reach the program as they are, and the shell runs nothing that stands in them.
 *
 * @throws MillraceError `invalid_request` for an argument that the shell cannot hand on.
 * Source: docs/dev/wire/processes.md, "Batch files on Windows".
 */
export function startable(command: string, args: readonly string[], system: System): Startable {
  const { platform = process.platform } = system;
  if (platform !== "win32") return { command, args, windowsVerbatimArguments: false };
  const file = findProgram(command, system) ?? command;
  if (!/\.(?:cmd|bat)$/i.test(file)) return { command: file, args, windowsVerbatimArguments: false };
  const line = [file, ...args].map(quoteForShell).join(" ");
  const root = variable(system, "SystemRoot") ?? "C:\\Windows";
  // No start-up commands, no delayed expansion; the shell takes off the outer quotes and keeps the rest.
  const options = ["/d", "/e:on", "/v:off", "/s", "/c"];
  return {
    command: win32.join(root, "System32", "cmd.exe"),
    args: [...options, `"${line}"`],
    windowsVerbatimArguments: true,
  };
}

/** The file that Windows' shell would start. The working folder is not searched: a project must not bring its own `git.cmd`. */
function findProgram(command: string, system: System): string | undefined {
  const { isFile = isFileHere } = system;
  const endings = (variable(system, "PATHEXT") ?? usualEndings).split(";").filter((ending) => ending !== "");
  const hasEnding = endings.some((ending) => command.toLowerCase().endsWith(ending.toLowerCase()));
  const names = [...(hasEnding ? [command] : []), ...endings.map((ending) => command + ending)];
  if (/[\\/]/.test(command)) return names.find(isFile);
  const folders = (variable(system, "PATH") ?? "").split(";").map((folder) => folder.replaceAll('"', ""));
  return folders
    .filter((folder) => win32.isAbsolute(folder))
    .flatMap((folder) => names.map((name) => win32.join(folder, name)))
    .find(isFile);
}

/**
 * An argument as the shell, a batch file that hands on `%*`, and the program behind it each read it: in quotes, so that no `&` or `|` is a
 * command; a quote as two, so that each reader stays inside the quotes; a `%` behind an empty substring, so that no variable begins there.
 */
function quoteForShell(argument: string): string {
  if (/[\0\r\n]/.test(argument))
    throw new MillraceError("invalid_request", "Windows cannot hand an argument of several lines to a .cmd file.", {
      hint: "Write the argument in one line, or name the .exe file behind the .cmd file.",
    });
  const inside = argument
    .replaceAll(/(\\*)"/g, '$1$1""')
    .replace(/\\+$/, "$&$&")
    .replaceAll("%", "%%cd:~,%");
  return `"${inside}"`;
}

/** Windows compares names of variables in any case. */
function variable({ env }: System, name: string): string | undefined {
  const key = Object.keys(env).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : env[key];
}

function isFileHere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
