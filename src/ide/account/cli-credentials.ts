import { parse } from "smol-toml";
import { z } from "zod";
import { joinPath } from "../apps/layouts.ts";
import type { Host } from "../host/host.ts";
import { parseApiKey } from "./api-key.ts";

const maxBytes = 64 * 1024;
const credentials = z.object({ windsurf_api_key: z.string(), api_server_url: z.string().optional().catch(undefined) });

/** A key, and the vendor's server that it is for, as a host name; undefined where the file does not say. */
export type StoredKey = NonNullable<ReturnType<typeof parseApiKey>> & { readonly apiServer: string | undefined };

/**
 * The file in which `devin auth login` keeps its key. `environment` holds the variables of that home's user: the folder of
 * user data may be another one. Source: docs/dev/wire/devin-desktop.md, "The agent program".
 */
export function credentialsFile(
  platform: Host["platform"],
  home: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  if (platform === "windows") {
    return joinPath(environment["APPDATA"] || joinPath(home, "AppData", "Roaming"), "devin", "credentials.toml");
  }
  return joinPath(environment["XDG_DATA_HOME"] || joinPath(home, ".local", "share"), "devin", "credentials.toml");
}

/** The sessions of the agent program and of Devin Desktop, with what each model call used. Source: as of `credentialsFile`. */
export function sessionsFile(...where: Parameters<typeof credentialsFile>): string {
  return joinPath(credentialsFile(...where).replace(/[\\/][^\\/]*$/, ""), "cli", "sessions.db");
}

/** The key in the text of such a file; undefined when it holds none, or is no TOML. */
export function keyOfCredentials(text: string): StoredKey | undefined {
  let table: unknown;
  try {
    table = parse(text);
  } catch {
    return undefined; // the program wrote something else: no key in it
  }
  const parsed = credentials.safeParse(table);
  const found = parsed.success ? parseApiKey(parsed.data.windsurf_api_key) : undefined;
  return found && { ...found, apiServer: hostOf(parsed.data?.api_server_url) };
}

/** The host of an address; undefined where it is none. */
export function hostOf(address: string | undefined): string | undefined {
  return address === undefined || !URL.canParse(address) ? undefined : new URL(address).host || undefined;
}

/** Reads the key again; `missing` if there is no such file. */
export async function readCredentials(
  host: Host,
  file: string,
  signal: AbortSignal,
): Promise<StoredKey | "missing" | "without"> {
  const text = await host.readText(file, maxBytes, signal);
  if (text === undefined) return "missing";
  return keyOfCredentials(text) ?? "without";
}
