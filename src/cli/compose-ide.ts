import { createHash } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { withCascadeJournal } from "../ide/cascade-journal.ts";
import { openIdeFinder } from "../ide/finder.ts";
import type { IdeFinder } from "../ide/ide.ts";
import { openHost } from "../ide/open-host.ts";
import type { IdeOverrides } from "../ide/overrides.ts";
import type { Capabilities } from "../language-server/language-server.ts";
import { createWireIds, type MachineIdentity } from "../language-server/metadata.ts";
import { openLanguageServer } from "../language-server/open-language-server.ts";
import { probePort } from "../language-server/probe.ts";
import type { Io } from "./io.ts";
import { openOwnJournal } from "./own-cascades.ts";
import { readSettings } from "./settings.ts";

/** The finder of the IDEs that run on this machine, with the clients that it hands out. */
export function composeIdeFinder(io: Io, overrides: IdeOverrides): IdeFinder {
  const { clock } = io;
  const ids = createWireIds(clock);
  const machine = describeMachine(io);
  const builds = new Map<string, Capabilities>();
  const { platform, homeFolder: home, env: environment } = io;
  const journal = openOwnJournal(readSettings(io));
  return openIdeFinder({
    host: openHost({ platform, uid: process.getuid?.(), home, environment, clock }),
    clock,
    probe: probePort,
    connect: (endpoint, identity) =>
      withCascadeJournal(openLanguageServer(endpoint, identity, { clock, ids, machine, builds }), journal, {
        now: () => clock.now(),
        onProblem: () => {}, // a conversation that is not noted is only never cleaned up; the turn matters more
      }),
    overrides,
  });
}

/** What the editor says of the machine as well: the system, the processor, a digest that names neither. */
function describeMachine(io: Io): MachineIdentity {
  const os = io.platform === "win32" ? "windows" : io.platform;
  const hardware = process.arch === "x64" ? "x86_64" : process.arch;
  const deviceFingerprint = createHash("sha256")
    .update(`millrace\0${hostname()}\0${userInfo().username}`)
    .digest("hex");
  return { os, hardware, deviceFingerprint };
}
