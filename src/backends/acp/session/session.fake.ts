import { FakeClock } from "../../../base/clock.fake.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { fencelessSettings } from "../known/own-settings.ts";
import type { KeptTools } from "../process/kept-process.ts";
import type { RelayDoor } from "../relay/relay-hub.ts";
import type { FromRelay, ToRelay } from "../relay/relay-wire.ts";
import { readSessionOptions } from "../wire/session-offer.ts";
import { NativeKnowledge } from "./native-knowledge.ts";
import { Session, type SessionProcess } from "./session.ts";
import { SessionTools } from "./session-tools.ts";

const names = { name: "played", ide: "played", command: "played" };
export const playedSpec: AcpAgentSpec = { ...names, vendor: "other", args: [], environment: {}, folder: "" };

/** The process of a test's sessions. Its agent does at once what it is asked; `asked` are the methods. */
export class PlayedProcess implements SessionProcess {
  readonly clock = new FakeClock();
  readonly asked: string[] = [];
  readonly sessions = new Map<string, Session>();
  /** `read`: the number of the agent's lines that were read. */
  readonly host = { read: 0 };
  readonly child = { host: this.host } as unknown as SessionProcess["child"]; // nothing else of it is used
  isStale = false;
  readonly abilities = { canDelete: true, canClose: true } as SessionProcess["abilities"]; // as above
  readonly own = fencelessSettings(playedSpec);
  readonly style = "ask";
  readonly knowledge = new NativeKnowledge("auto");
  readonly peer: SessionProcess["peer"] = {
    nextId: 1,
    ask: (method) => void this.asked.push(method),
    expect: () => {},
    notify: (method) => void this.asked.push(method),
    request: async (method) => void this.asked.push(method),
  };

  note(): void {}
  onIdle(): void {}
  forget({ id }: Session): void {
    this.sessions.delete(id);
  }

  open(id: string, tools?: SessionTools): Session {
    const session = new Session(this, tools);
    session.open(id, readSessionOptions({}));
    this.sessions.set(id, session);
    return session;
  }
}

export const address = { socket: "door", secret: "secret" };
export const tool = { name: "step", description: "A step.", inputSchema: { type: "object" } };

/** Tools of a session whose relay is the test. */
export function relayed(kept?: KeptTools["offered"]) {
  const told: ToRelay[] = [];
  const door = { address, tell: (message: ToRelay) => void told.push(message), close() {} } as unknown as RelayDoor; // nothing else of it is used
  const tools = new SessionTools(door, "mill", kept);
  return { tools, told, say: (message: FromRelay) => door.onMessage(message), lose: () => door.onLost() };
}

export const call = (callId: string) => ({ callId, name: "step", arguments: {} });
export const hello = (...callIds: readonly string[]): FromRelay => ({
  type: "hello",
  secret: address.secret,
  listed: true,
  calls: callIds.map(call),
});
