import { existsSync } from "node:fs";
import type { Client, Machine } from "./client.ts";
import { clients } from "./clients.ts";
import { isOnPath } from "./millrace-command.ts";
import { setUpClients } from "./set-up-clients.ts";

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
