import { arch, platform } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import { makeTemporaryFolder } from "../src/base/node/user.ts";
import { Editor, runsEditor } from "./editor.ts";
import { startExtensionServer } from "./extension-server.ts";
import { install } from "./install.ts";
import { type Arch, layoutOf, type Platform } from "./layout.ts";
import { parseSimulatorOptions, type SimulatorOptions } from "./options.ts";
import { profiles } from "./profile.ts";
import type { Simulator } from "./simulator.ts";

export type { Simulator } from "./simulator.ts";

/**
 * Starts a stand-in IDE. It is its editor: keep it, and stop it at the end; when this process ends, the server ends too.
 *
 * @throws MillraceError `invalid_request` for wrong options; Error with the server's last words when it does not start.
 * Source: docs/dev/wire/processes.md, "Start of a server".
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const config = parseSimulatorOptions(options);
  const ownHome = config.home === undefined;
  const home = resolve(config.home ?? makeTemporaryFolder("millrace-simulator-"));
  const profile = profiles[config.profile];
  const ideVersion = config.ideVersion ?? profile.ideVersion;
  const system = config.platform ?? systemOf(platform());
  const layout = layoutOf(profile, home, system, config.arch ?? archOf(arch()));
  if (runsEditor(profile)) {
    await install({
      profile,
      layout,
      ideVersion,
      node: process.execPath,
      schemaSeed: config.schemaSeed,
      unmarked: config.unmarked,
    });
  }
  const extensionServer = await startExtensionServer();
  const editor = new Editor({ config, home, ownHome, profile, ideVersion, system, layout, extensionServer });
  try {
    await editor.install();
    if (runsEditor(profile)) await editor.start();
  } catch (error) {
    await editor.stop();
    throw error;
  }
  return editor;
}

function systemOf(name: string): Platform {
  return name === "darwin" || name === "win32" ? name : "linux";
}

function archOf(name: string): Arch {
  return name === "arm64" ? "arm64" : "x64";
}
