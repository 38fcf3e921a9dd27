import { join } from "node:path";
import type { Io } from "./terminal/output.ts";

/** The places of Millrace's own files, and the settings from the environment. Everything has a default; see docs/reference.md. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

export function readSettings(io: Pick<Io, "env" | "homeFolder">) {
  const folder = io.env["MILLRACE_HOME"] || join(io.homeFolder, ".millrace");
  return {
    /** Mode 0700. */
    folder,
    /** The user's configuration file: agents, and how they are asked. */
    configFile: join(folder, "config.toml"),
    /** The gateway's key (0600). */
    keyFile: io.env["MILLRACE_KEY_FILE"] || join(folder, "key"),
    /** There while no prompt may be sent. */
    pauseFile: join(folder, "paused"),
    /** Since when the user wants no gateway: other programs start none on their own. */
    stoppedFile: join(folder, "stopped"),
    /** The hashes and limits of the keys that the owner made for others (0600). */
    keysFile: join(folder, "keys.json"),
    /** The event log and usage history. */
    storeFile: join(folder, "turns.db"),
    /** The key that seals the log (0600). */
    logKeyFile: io.env["MILLRACE_LOG_KEY_FILE"] || join(folder, "log-key"),
    /** The notes of the conversations that Millrace began. */
    journalFile: join(folder, "cascades.jsonl"),
    /** Where a running gateway says how it is reached. */
    gatewayFile: join(folder, "gateway.json"),
    /** The programs that got the last prompts (0600). */
    ideFile: join(folder, "gateway-ide.json"),
  };
}

/** What Millrace makes in its folder. A test compares this list with the sources and with docs/reference.md, "Files". */
export const ownNames: readonly string[] = [
  "acp",
  "agents",
  "cascades",
  "config",
  "consent",
  "dashboard",
  "gateway",
  "home-id",
  "key",
  "keys",
  "limits",
  "log-key",
  "logs",
  "paused",
  "release",
  "run",
  "schemas",
  "service",
  "sessions",
  "setup",
  "stopped",
  "streams",
  "turns",
];

/** Whether a file of the folder is Millrace's own, by its name: with a dot or a hyphen, more may follow. `MILLRACE_HOME` may hold other files. */
export function isOwnFile(name: string): boolean {
  return ownNames.some((own) => name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}-`));
}
