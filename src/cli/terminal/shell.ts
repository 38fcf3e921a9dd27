import { win32 } from "node:path";
import type { Io } from "./output.ts";

/** A shell whose lines Millrace can write. */
export type Shell = "sh" | "powershell" | "cmd";

/**
 * The shell that the user types in. Windows tells no program its shell: Git Bash sets `MSYSTEM`, and PowerShell adds its user's modules to
 * `PSModulePath`, while `cmd` sets `PROMPT`. PowerShell where nothing tells.
 */
export function shellOf({ platform, env }: Pick<Io, "platform" | "env">): Shell {
  if (platform !== "win32" || env["MSYSTEM"] !== undefined) return "sh";
  const variable = (wanted: string) => Object.entries(env).find(([name]) => name.toUpperCase() === wanted)?.[1];
  if (/\\(?:Windows)?PowerShell\\Modules/i.test(withoutSystem(variable("PSMODULEPATH") ?? ""))) return "powershell";
  return variable("PROMPT") === undefined ? "powershell" : "cmd";
}

/** The folders of modules that are the user's own; those of the system are in every program's environment. */
function withoutSystem(path: string): string {
  return path
    .split(";")
    .filter((folder) => !/^.:\\(?:Program Files|Windows)/i.test(win32.normalize(folder)))
    .join(";");
}

/**
 * A line that sets a variable of the shell's session to a text. Source: POSIX.1-2024, Shell Command Language, 2.2.2; about_Quoting_Rules of
 * PowerShell, which takes typographic quotes for its own.
 */
export function setVariable(name: string, value: string, shell: Shell): string {
  if (shell === "sh") return `export ${name}='${value.replaceAll("'", "'\\''")}'`;
  if (shell === "powershell") return `$env:${name} = '${value.replaceAll(/['\u2018-\u201b]/g, "$&$&")}'`;
  return `set "${name}=${value.replaceAll("%", "%^")}"`;
}

/** A command line that prints a variable of its environment, for the shell that programs of this system start. */
export function printVariable(name: string, platform: NodeJS.Platform): string {
  return platform === "win32" ? `echo %${name}%` : `printf %s "$${name}"`;
}
