import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { CommandContext } from "../command.ts";
import { stableNode } from "../service/stable-node.ts";
import { askNumbers, canAsk } from "../terminal/ask-yes.ts";
import { nothingHere } from "../terminal/exit-codes.ts";
import { shellOf } from "../terminal/shell.ts";
import type { Client, Machine } from "./client.ts";
import { clients } from "./clients.ts";
import type { KeyWay } from "./target.ts";

/** Whether a shell finds the client, or its folder is there. */
export function isInstalled({ programs, folder }: Client, machine: Machine): boolean {
  return (
    programs.some((program) => isOnPath(program, machine)) || (folder !== undefined && existsSync(folder(machine)))
  );
}

/** The clients that are installed, and whether each is set up. */
export function installedClients(machine: Machine): readonly { readonly client: Client; readonly isSetUp: boolean }[] {
  const known = new Set(setUpClients(machine.ownFolder));
  return clients
    .filter((client) => isInstalled(client, machine))
    .map((client) => ({ client, isSetUp: known.has(client.name) }));
}

/**
 * The clients among `found` that the user picks, for a command without a client's name. `one`: one
 * at most. Throws the error of nothing to work on where there is none, and off a terminal.
 */
export async function pickClients(
  found: readonly Client[],
  { command, title, one }: { readonly command: string; readonly title: string; readonly one: boolean },
  context: CommandContext,
): Promise<readonly Client[]> {
  const { out } = context;
  const [first] = found;
  if (first === undefined)
    throw nothingHere("No client was found here.", "`millrace setup generic` shows what to type into any client.");
  if (!canAsk(context)) {
    const names = found.map(({ name }) => name).join(", ");
    throw nothingHere(`Say which client. ${title}: ${names}.`, `Type \`millrace ${command} ${first.name}\`.`);
  }
  out.line(`${title}:`);
  for (const [at, { title: client }] of found.entries()) out.line(`  ${at + 1}.  ${client}`);
  const which = one ? "its number, Enter for none" : "numbers such as 1 3, y for all, Enter for none";
  const chosen = await askNumbers(`Which? [${which}]`, { count: found.length, one }, context);
  return found.filter((_, at) => chosen.has(at + 1));
}

/** The record of a client's changes, in Millrace's own folder. */
export function recordFile(folder: string, client: string): string {
  return join(folder, "setup", `${client}.json`);
}

/** The names of the clients whose configuration points at the gateway. */
export function setUpClients(folder: string): readonly string[] {
  try {
    return readdirSync(join(folder, "setup"))
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length))
      .toSorted();
  } catch {
    return []; // no client was ever set up
  }
}

type Shell = Pick<Machine, "env" | "platform">;

/** This program as it was started: the Node that runs it, and its script. */
const started = { node: process.execPath, script: process.argv[1] };

/** Whether a shell finds a program of this name. */
function isOnPath(name: string, { env, platform }: Shell): boolean {
  const endings = platform === "win32" ? ["", ...(env["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const folders = (env["PATH"] ?? env["Path"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => isProgram(join(folder, name + ending))));
}

/**
 * The words that start Millrace from the user's shell: its name where the shell finds it, else where it stands. They stand in files of
 * clients, so they name a Node that an upgrade leaves in place, if there is one.
 */
function millraceWords(shell: Shell, { node, script } = started): readonly string[] {
  const own = withoutNpm(shell);
  if (script === undefined || isOnPath("millrace", own)) return ["millrace"];
  const home = shell.env["HOME"] ?? shell.env["USERPROFILE"] ?? "";
  return [stableNode(node, { env: own.env, home }).path, script];
}

/** The same as a command line. */
export function millraceCommand(shell: Shell, from = started): string {
  const words = millraceWords(shell, from);
  return words.length === 1 ? words.join("") : words.map((word) => `"${word}"`).join(" ");
}

/** How the clients of this user get the key of the gateway. */
export function keyWay(shell: Shell): KeyWay {
  return {
    keyCommand: `${millraceCommand(shell)} keys --value`,
    keyWords: [...millraceWords(shell), "keys", "--value"],
    shell: shellOf(shell),
  };
}

/** The command that the user types to run Millrace: in a clone, the script that picks its Node. */
export function typedCommand(shell: Shell, from = started): string {
  const command = millraceCommand(shell, from);
  const isClone = from.script?.replaceAll("\\", "/").endsWith("/src/cli/bin.ts") === true;
  return command !== "millrace" && isClone ? "npm run -s millrace --" : command;
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
