import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import type { EventSink } from "../../base/emitter.ts";
import { userName } from "../../base/node/user.ts";
import { openIdeFinder } from "../../ide/discover/finder.ts";
import type { IdeOverrides } from "../../ide/discover/overrides.ts";
import { openHost } from "../../ide/host/open-host.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { IdeLifecycle } from "../../ide/lifecycle.ts";
import type { Capabilities, LanguageServer } from "../../language-server/language-server.ts";
import { createWireIds, type MachineIdentity } from "../../language-server/metadata.ts";
import { openLanguageServer } from "../../language-server/open-language-server.ts";
import { probePort } from "../../language-server/probe/probe.ts";
import type { Endpoint, IdeIdentity } from "../../language-server/transport/endpoint.ts";
import type { CheckHolder } from "../../language-server/transport/open-socket.ts";
import { openSchemas, type Schemas } from "../../schema/open-schemas.ts";
import { type IdeOptions, overridesOf } from "../serve/gateway-options.ts";
import type { Io } from "../terminal/output.ts";

/** The finder of the IDEs that run on this machine, with the clients that it hands out. */
export function composeIdeFinder(
  io: Io,
  overrides: IdeOverrides,
  { schemas = openSchemas(), events }: { readonly schemas?: Schemas; readonly events?: EventSink<IdeLifecycle> } = {},
): IdeFinder {
  const { clock } = io;
  const ids = createWireIds(clock);
  const machine = describeMachine(io);
  const builds = new Map<string, Capabilities>();
  const { platform, homeFolder: home, env: environment } = io;
  const open = (endpoint: Endpoint, identity: IdeIdentity, checkHolder: CheckHolder): LanguageServer => {
    const options = { clock, ids, machine, builds, checkHolder };
    const { variant, extensionPath } = identity;
    if (variant === "antigravity" || extensionPath === "") return openLanguageServer(endpoint, identity, options);
    const bundle = join(extensionPath, "dist", "extension.js");
    const readSpoken = (signal: AbortSignal) => schemas.read(bundle, signal); // `millrace doctor` says why it could not be read
    return openLanguageServer(endpoint, identity, { ...options, readSpoken });
  };
  return openIdeFinder({
    host: openHost({ platform, uid: process.getuid?.(), home, environment, clock }),
    clock,
    probe: probePort,
    connect: open,
    overrides,
    ...(events && { events }),
  });
}

/** Runs `use` with a finder of its own, for the IDE that these options name. */
export async function withFinder<T>(
  io: Io,
  options: IdeOptions,
  use: (finder: IdeFinder, overrides: IdeOverrides) => Promise<T>,
): Promise<T> {
  const overrides = overridesOf(io, options);
  const finder = composeIdeFinder(io, overrides);
  try {
    return await use(finder, overrides);
  } finally {
    finder.close();
  }
}

/** Describes the machine as the editor does: the system, the processor, and a digest that reveals neither. */
function describeMachine(io: Io): MachineIdentity {
  const os = io.platform === "win32" ? "windows" : io.platform;
  const hardware = process.arch === "x64" ? "x86_64" : process.arch;
  const deviceFingerprint = createHash("sha256").update(`millrace\0${hostname()}\0${userName()}`).digest("hex");
  return { os, hardware, deviceFingerprint };
}
