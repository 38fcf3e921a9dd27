import { join } from "node:path";
import type { Io } from "../terminal/output.ts";

/** The places of Millrace's own files, and the settings from the environment. Everything has a default; see docs/configuration.md. */
export interface Settings {
  /** `~/.millrace`, or MILLRACE_HOME. Mode 0700. */
  readonly folder: string;
  /** The user's configuration file: agents, and how they are asked. */
  readonly configFile: string;
  /** The gateway's key (0600). */
  readonly keyFile: string;
  /** The hashes and limits of the keys that the owner made for others (0600). */
  readonly keysFile: string;
  /** There while no prompt may be sent. */
  readonly pauseFile: string;
  /** The event log and usage history. */
  readonly storeFile: string;
  /** The key that seals the log (0600). */
  readonly logKeyFile: string;
  /** The schemas read from IDE builds. */
  readonly schemaFolder: string;
  /** The records of chats, so that an answer survives the command that asked. */
  readonly streamsFolder: string;
  /** Where a running gateway says how it is reached. */
  readonly gatewayFile: string;
}

export function readSettings(io: Pick<Io, "env" | "homeFolder">): Settings {
  const folder = io.env["MILLRACE_HOME"] || join(io.homeFolder, ".millrace");
  return {
    folder,
    configFile: join(folder, "config.toml"),
    keyFile: io.env["MILLRACE_KEY_FILE"] || join(folder, "key"),
    pauseFile: join(folder, "paused"),
    keysFile: join(folder, "keys.json"),
    storeFile: join(folder, "turns.db"),
    logKeyFile: io.env["MILLRACE_LOG_KEY_FILE"] || join(folder, "log-key"),
    schemaFolder: join(folder, "schemas"),
    streamsFolder: join(folder, "streams"),
    gatewayFile: join(folder, "gateway.json"),
  };
}
