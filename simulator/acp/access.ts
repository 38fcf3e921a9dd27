import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentOptions } from "./agent-options.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";
import { codes, vendorError } from "./errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Who may use the agent of this process. Source: docs/dev/wire/acp.md, "Signing in". */
export interface Access {
  /** Whether a valid key is there, in the environment or stored. Read at each call, because the user may sign in meanwhile. */
  readonly signedIn: () => boolean;
  /** The environment says that the host authenticates: no stored key counts. */
  readonly hostMustAuthenticate: boolean;
}

/** @throws RpcError where this build accepts another client name only. */
export function checkClient({ clientName }: AgentOptions, given: unknown): void {
  if (clientName === undefined || given === clientName) return;
  throw vendorError(codes.auth, `Client ${String(given)} is not allowed`, "auth_required");
}

/** @throws RpcError where no valid key is there. */
export function checkSignedIn({ hostMustAuthenticate, signedIn }: Access): void {
  if (hostMustAuthenticate) throw vendorError(codes.auth, "ACP host has not authenticated", "auth_required");
  if (signedIn()) return;
  throw vendorError(codes.auth, "Authentication required", "auth_required");
}

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
  try {
    const stored = readFileSync(join(dataFolder(settings, env), "credentials.toml"), "utf8");
    return /^windsurf_api_key\s*=\s*"([^"]*)"/m.exec(stored)?.[1] === settings.apiKey;
  } catch {
    return false; // no account is signed in
  }
}
