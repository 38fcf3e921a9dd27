import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Secret } from "../../base/secret.ts";
import type { CommandContext } from "../command.ts";
import { variableOf } from "../keys/client-key.ts";
import { askNumbers, canAsk } from "../terminal/ask-yes.ts";
import { nothingHere } from "../terminal/exit-codes.ts";
import { isOnPath, millraceCommand, millraceWords, typedCommand } from "../terminal/own-command.ts";
import type { Client, Machine, SetupKey } from "./client.ts";
import { clients } from "./clients.ts";

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

/** The key of a client that is set up, with the ways to it that its configuration can name. */
export function setupKey({ name }: Client, key: Secret, machine: Machine): SetupKey {
  const words = ["keys", "--value", "--for", name];
  return {
    value: key.reveal(),
    variable: variableOf(key),
    words: [...millraceWords(machine), ...words],
    command: `${millraceCommand(machine)} ${words.join(" ")}`,
    typed: `${typedCommand(machine)} ${words.join(" ")}`,
  };
}
