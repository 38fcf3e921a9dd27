import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { replaceFile, replaceFileSync } from "../../../src/base/node/replace-file.ts";
import type { Layout } from "../../layout.ts";
import type { AgentSettings } from "./desk-protocol.ts";

/** The entry of the agent's process, beside this module: sources start sources, the bundle starts the bundle. */
const ownEntry = import.meta.url.endsWith(".ts") ? "../main.ts" : "./simulated-agent.js";

/** Tests and benchmarks name the entry of a bundle here: its processes start sooner than those of the sources. */
const entry = process.env["MILLRACE_SIMULATED_AGENT"] ?? fileURLToPath(new URL(ownEntry, import.meta.url));

/** Marks the CLI beside it as a stand-in. */
const cliStandInFile = "millrace-stand-in";

/** The `devin` programs to install, and their settings. */
interface AgentInstallation {
  readonly home: string;
  readonly layout: Layout;
  /** The Node binary that runs them. */
  readonly node: string;
  readonly settings: AgentSettings;
  readonly cli: boolean;
  /** Whether a file beside the CLI marks it as a stand-in. */
  readonly marked: boolean;
  /** Store the account's key as `devin auth login` does. */
  readonly credentials: boolean;
}

/** The installed programs by their paths. */
export interface InstalledAgents {
  /** The launcher's command: a program, and its arguments before those of `devin`. */
  readonly command: readonly string[];
  readonly agentPath: string | undefined;
  readonly cliPath: string | undefined;
}

/** Writes launchers, settings and credentials. Idempotent. */
export async function installAgents(installation: AgentInstallation): Promise<InstalledAgents> {
  const { home, layout, node, settings, cli, credentials, marked } = installation;
  const settingsFile = join(home, ".millrace-simulator", "agent.json");
  replaceFileSync(settingsFile, JSON.stringify(settings)); // an agent may start meanwhile
  const paths = [layout.agent, cli ? layout.cli : undefined].filter((path) => path !== undefined);
  const command = [node, "--no-warnings", entry, settingsFile];
  await Promise.all(paths.map((path) => writeLauncher(path, command)));
  if (cli && marked) replaceFileSync(join(dirname(layout.cli), cliStandInFile), "");
  if (credentials) {
    replaceFileSync(
      join(layout.cliData, "credentials.toml"),
      `windsurf_api_key = "${settings.apiKey}"\napi_server_url = "https://server.self-serve.windsurf.com"\n`,
    );
  }
  return { command, agentPath: layout.agent, cliPath: cli ? layout.cli : undefined };
}

/** A shell script that becomes the process: it needs no PATH, and its pid stays. */
async function writeLauncher(path: string, command: readonly string[]): Promise<void> {
  const words = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 }); // an agent may start meanwhile
}
