import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { CheckHolder } from "../../language-server/transport/open-socket.ts";
import { FakeHost } from "../host/host.fake.ts";
import type { IdeLifecycle } from "../lifecycle.ts";
import type { Probe } from "../process/probe-port.ts";
import { openIdeFinder } from "./finder.ts";
import { noOverrides } from "./overrides.ts";

export const signal = new AbortController().signal;
export const answers: Probe = async () => ({ ok: true, protocol: "grpc", tls: false });

export function setUp(probe: Probe = answers, clock = new FakeClock()) {
  const host = new FakeHost();
  const opened: { port: number; closed: boolean; apiKey: string; checkHolder: CheckHolder }[] = [];
  const changes: string[] = [];
  const events = new Emitter<IdeLifecycle>();
  events.on("ide_found", ({ pid }) => changes.push(`found ${pid}`));
  events.on("ide_lost", ({ pid }) => changes.push(`lost ${pid}`));
  const finder = openIdeFinder({
    events,
    host,
    clock,
    probe,
    overrides: noOverrides,
    connect: (endpoint, identity, checkHolder) => {
      const entry = { port: endpoint.port, closed: false, apiKey: identity.apiKey.reveal(), checkHolder };
      opened.push(entry);
      return { endpoint, close: () => (entry.closed = true) } as unknown as LanguageServer; // the finder only opens and closes it
    },
  });
  const signIn = (apiKey: string | undefined) =>
    host.states.set("/home/me/.config/Windsurf/User/globalStorage/state.vscdb", {
      windsurfAuthStatus: JSON.stringify({ apiKey }),
    });
  return { host, clock, finder, opened, changes, signIn };
}
