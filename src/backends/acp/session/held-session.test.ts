import { expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import type { RelayDoor } from "../relay/relay-hub.ts";
import { readSessionOptions } from "../wire/session-offer.ts";
import type { AgentParts } from "./agent-parts.ts";
import type { AgentProcess } from "./agent-process.ts";
import { HeldSession } from "./held-session.ts";
import { OpenSession } from "./open-session.ts";
import { SessionTools } from "./session-tools.ts";

const parts = { clock: new FakeClock() } as unknown as AgentParts; // nothing else of it is used
const options = { keep: true, onAlive: () => {} };
const { signal } = new AbortController();

const openSession = (id: string, tools?: SessionTools) =>
  new OpenSession(id, readSessionOptions({}), () => undefined, tools);

/** A process with two sessions, one of which a turn has, and the measurement of its memory. */
function processWithSession() {
  const tools = new SessionTools({} as unknown as RelayDoor); // nothing of it is used
  const session = openSession("one", tools);
  const measured = Promise.withResolvers<number>();
  const sessions = new Map([session, openSession("two")].map((each) => [each.id, each]));
  const child = { rssBytes: () => measured.promise };
  const process = { child, sessions, note: () => {} } as unknown as AgentProcess; // nothing else of it is used
  const lease = { process, release: () => {} };
  return { session, measured, lease };
}

test("a turn that is cleaned up late leaves the session to the next turn, which has it already", async () => {
  const { session, measured, lease } = processWithSession();
  const [first, second] = [new HeldSession(parts), new HeldSession(parts)];
  first.hold(lease, session);
  first.ended = "finished";
  const closing = first.close(options, signal);
  second.hold(lease, session);
  measured.resolve(0);
  await closing;
  expect(session.isHeld).toBe(true);
});

test("an end that came while the turn was left to the next gateway is that one's to read again", async () => {
  const { session, lease } = processWithSession();
  const held = new HeldSession(parts);
  held.hold(lease, session);
  session.prompt = { id: 1, from: 3 };
  session.tools?.give([], 7);
  Object.assign(held, { named: true, ended: "finished" });
  await held.close(options, AbortSignal.abort("detach"));
  expect(session).toMatchObject({ isLeft: true, prompt: { from: 3 } });
});
