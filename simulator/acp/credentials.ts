import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSettings } from "./desk/desk-protocol.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The CLI's own folder, as its environment leads to it. */
export function dataFolder(settings: AgentSettings, env: Environment): string {
  const data = env["XDG_DATA_HOME"];
  if (data !== undefined && data !== "") return join(data, "devin");
  const home = env["HOME"] ?? env["USERPROFILE"];
  return home === undefined || home === settings.home ? settings.cliData : join(home, ".local", "share", "devin");
}

/** Whether the key that the program would use is this account's: the environment's first, then the stored one. */
export function hasKey(settings: AgentSettings, env: Environment): boolean {
  const given = env["WINDSURF_API_KEY"];
  if (given !== undefined && given !== "") return given === settings.apiKey;
  return storedKey(dataFolder(settings, env)) === settings.apiKey;
}

function storedKey(folder: string): string | undefined {
  try {
    return /^windsurf_api_key\s*=\s*"([^"]*)"/m.exec(readFileSync(join(folder, "credentials.toml"), "utf8"))?.[1];
  } catch {
    return undefined; // no account is signed in
  }
}
