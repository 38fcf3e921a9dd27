import { expect, it } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { idle } from "../../../base/wait.fake.ts";
import type { AgentProcess } from "./agent-process.ts";
import { KeptSessions } from "./kept-sessions.ts";
import type { OpenSession } from "./open-session.ts";

const folder = "/nowhere";

/** Sessions that are parked in one process; `cancelled` are those that it discarded. */
function world() {
  const kept = new KeptSessions(new FakeClock(), folder);
  const cancelled: string[] = [];
  const sessions = new Map<string, OpenSession>();
  const discard = async (id: string) => void cancelled.push(id);
  const process = { sessions, discard } as unknown as AgentProcess; // nothing else of it is used
  const park = (id: string) => {
    const session = sessions.get(id) ?? ({ id, tools: { given: [`call of ${id}`] } } as unknown as OpenSession); // as above
    sessions.set(id, session);
    kept.park(process, session);
  };
  return { kept, cancelled, park };
}

const sixteen = Array.from({ length: 16 }, (_, n) => `session ${n + 1}`);

it("16 prompts wait; each further one cancels the one that waits the longest, once", async () => {
  const { cancelled, park } = world();
  sixteen.forEach(park);
  await idle();
  expect(cancelled).toEqual([]);
  ["session 17", "session 18"].forEach(park);
  await idle();
  expect(cancelled).toEqual(["session 1", "session 2"]);
});

it("a prompt that waits again counts from then on, and takes one place", async () => {
  const { cancelled, park } = world();
  sixteen.forEach(park);
  park("session 1");
  await idle();
  expect(cancelled).toEqual([]);
  park("session 17");
  await idle();
  expect(cancelled).toEqual(["session 2"]);
});

it("a prompt that goes on is not cancelled, and leaves its place", async () => {
  const { kept, cancelled, park } = world();
  sixteen.forEach(park);
  kept.goOn("session 1");
  park("session 17");
  await idle();
  expect(cancelled).toEqual([]);
});

it("a request that names the call of a prompt in another way cancels that prompt alone", async () => {
  const { kept, cancelled, park } = world();
  ["a", "b"].forEach(park);
  kept.supersede(["call of b", "call of c"]);
  await idle();
  expect(cancelled).toEqual(["b"]);
});

it("the memory of a process is asked for every ten seconds at most, however many turns end there", async () => {
  const clock = new FakeClock();
  const kept = new KeptSessions(clock, folder);
  let asked = 0;
  const sessions = new Map([{}, {}].map((session, n) => [`session ${n}`, session as OpenSession]));
  const rssBytes = async () => void asked++;
  const process = { sessions, child: { rssBytes } } as unknown as AgentProcess; // nothing else of it is used
  for (let turn = 0; turn < 10; turn++) await kept.saveMemory(process);
  expect(asked).toBe(1);
  await clock.advance(10_000);
  await kept.saveMemory(process);
  expect(asked).toBe(2);
});
