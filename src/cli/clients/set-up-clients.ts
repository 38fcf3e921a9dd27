import { readdirSync } from "node:fs";
import { join } from "node:path";

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
