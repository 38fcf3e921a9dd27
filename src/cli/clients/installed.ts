import { existsSync } from "node:fs";
import type { Client, Place } from "./client.ts";
import { clients } from "./clients.ts";
import { isOnPath } from "./millrace-command.ts";
import { setUpClients } from "./set-up-clients.ts";

/** Whether a shell finds the client, or its folder is there. */
export function isInstalled({ programs, folder }: Client, place: Place): boolean {
  return programs.some((program) => isOnPath(program, place)) || (folder !== undefined && existsSync(folder(place)));
}

/** The clients that are installed, and whether each is set up. */
export function installedClients(place: Place): readonly { readonly client: Client; readonly isSetUp: boolean }[] {
  const known = new Set(setUpClients(place.ownFolder));
  return clients
    .filter((client) => isInstalled(client, place))
    .map((client) => ({ client, isSetUp: known.has(client.name) }));
}
