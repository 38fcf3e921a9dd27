import { join } from "node:path";
import type { Io } from "./io.ts";

/** Where Millrace keeps its own files, and what the environment sets. Everything has a default; see docs/configuration.md. */
export interface Settings {
  /** `~/.millrace`, or MILLRACE_HOME. Mode 0700. */
  readonly folder: string;
  /** The gateway's key (0600). */
  readonly keyFile: string;
  /** The event log and usage history. */
  readonly storeFile: string;
  /** Where a running gateway says how it is reached. */
  readonly gatewayFile: string;
}

export function readSettings(io: Pick<Io, "env" | "homeFolder">): Settings {
  const folder = io.env["MILLRACE_HOME"] || join(io.homeFolder, ".millrace");
  return {
    folder,
    keyFile: io.env["MILLRACE_KEY_FILE"] || join(folder, "key"),
    storeFile: join(folder, "turns.db"),
    gatewayFile: join(folder, "gateway.json"),
  };
}
