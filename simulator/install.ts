import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { replaceFile, replaceFileSync } from "../src/base/node/replace-file.ts";
import type { AgentSettings } from "./acp/desk/desk-protocol.ts";
import type { Layout } from "./layout.ts";
import type { Profile } from "./profile.ts";
import { extensionBundle } from "./schema/bundle.ts";
import { schemaFiles, shiftedSchema } from "./schema/shift.ts";

/** The profile to unpack, and the places to unpack it to. */
interface Installation {
  readonly profile: Profile;
  readonly layout: Layout;
  readonly ideVersion: string;
  /** The Node binary that plays the language server's program. */
  readonly node: string;
  /** See `SimulatorConfig`. */
  readonly schemaSeed: number;
  /** Whether its files hide that it is a stand-in. */
  readonly unmarked?: boolean;
}

/**
 * Unpacks the product into its home as far as anybody looks: the server's program (Node under another name, so that the process
 * carries the real one's name), the extension's manifest, the folders of user data. Idempotent.
 */
export async function install(installation: Installation): Promise<void> {
  const { layout, profile } = installation;
  const folders = [
    dirname(layout.binary),
    join(layout.extension, "dist"),
    dirname(layout.stateDatabase),
    layout.cascades,
    layout.databaseFolder,
    join(layout.codeiumFolder, "memories"),
  ];
  await Promise.all(folders.map((folder) => mkdir(folder, { recursive: true })));
  await Promise.all([
    putProgram(installation.node, layout.binary),
    writeJson(join(layout.appRoot, "product.json"), {
      nameShort: profile.productFolder,
      applicationName: profile.devin?.command ?? profile.ideName,
      windsurfVersion: installation.ideVersion,
      ...(installation.unmarked !== true ? { millraceStandIn: true } : {}),
    }),
    ...(profile.family === "windsurf"
      ? [writeFile(join(layout.extension, "dist", "extension.js"), bundleOf(installation.schemaSeed))]
      : []),
    writeJson(join(layout.extension, "package.json"), {
      name: profile.family,
      publisher: profile.family === "antigravity" ? "google" : "codeium",
      version: profile.extensionVersion,
      main: "./dist/extension.js",
    }),
  ]);
}

/** The bundle whose generated code has the schema that this build speaks. */
function bundleOf(schemaSeed: number): string {
  return extensionBundle(schemaSeed === 0 ? schemaFiles() : [...shiftedSchema(schemaSeed).files]);
}

/** A symbolic link; on Windows a copy, because it starts no program through a link, and deletes no other name of a file that runs. */
async function putProgram(target: string, path: string): Promise<void> {
  const ways = process.platform === "win32" ? [copyFile] : [symlink, copyFile];
  for (const [index, way] of ways.entries()) {
    try {
      return await way(target, path);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "EEXIST") return;
      if (index === ways.length - 1) throw error;
    }
  }
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** The entry of the agent's process, beside this module: sources start sources, the bundle starts the bundle. */
const ownEntry = import.meta.url.endsWith(".ts") ? "./acp/main.ts" : "./simulated-agent.js";

/** Tests and benchmarks name the entry of a bundle here: its processes start sooner than those of the sources. */
const agentEntry = process.env["MILLRACE_SIMULATED_AGENT"] ?? fileURLToPath(new URL(ownEntry, import.meta.url));

/** Writes the launchers of the `devin` programs, their settings, and the key that `devin auth login` stores. Idempotent. */
export async function installPrograms(
  settings: AgentSettings,
  programs: {
    readonly settingsFile: string;
    readonly node: string;
    readonly agent: string | undefined;
    readonly cli: string | undefined;
    /** Whether a file beside the CLI marks it as a stand-in. */
    readonly marked: boolean;
    readonly signedIn: boolean;
  },
): Promise<void> {
  const { settingsFile, node, agent, cli, marked, signedIn } = programs;
  replaceFileSync(settingsFile, JSON.stringify(settings)); // an agent may start meanwhile
  if (cli !== undefined && marked) replaceFileSync(join(dirname(cli), "millrace-stand-in"), "");
  if (signedIn) {
    const credentials = `windsurf_api_key = "${settings.apiKey}"\napi_server_url = "https://server.self-serve.windsurf.com"\n`;
    replaceFileSync(join(settings.cliData, "credentials.toml"), credentials);
  }
  // A shell script that becomes the process: it needs no PATH, and its pid stays.
  const words = [node, "--no-warnings", agentEntry, settingsFile].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  for (const path of [agent, cli]) {
    if (path === undefined) continue;
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  }
}
