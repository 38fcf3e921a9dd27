import { afterEach, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { startOfLog, type TurnId } from "../base/ids.ts";
import { idle, until } from "../base/wait.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import { plainRequest } from "../log/turn.fake.ts";
import type { Turns } from "./open-turns.ts";
import type { TurnsOptions } from "./options.ts";
import { eachDelivered } from "./read.ts";
import { Readers } from "./readers.ts";
import { asking, durable, FakeReader, type FakeTurns, fakeTurns, goingOn } from "./turns.fake.ts";

const never = new AbortController().signal;
const open: Turns[] = [];

function begin(overrides: Partial<TurnsOptions> = {}): FakeTurns {
  const made = fakeTurns(overrides);
  open.push(made.turns);
  return made;
}

/** Starts a turn of which its client reads the beginning, and leaves. */
async function leftBehind(turns: Turns, asked: Parameters<typeof asking>[0] = {}): Promise<TurnId> {
  const { turnId } = await turns.start(asking(asked), never);
  const reader = new FakeReader(turns, turnId);
  await reader.seen("started");
  await reader.leave();
  return turnId;
}

/** Two processes on one log, of which the first one runs the turn. */
function twoProcesses() {
  const clock = new FakeClock();
  const store = durable(openMemoryLog({ clock }));
  return { clock, one: begin({ store, clock, owner: "one" }), two: begin({ store, clock, owner: "two" }) };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((turns) => turns.stop()));
});

test("a reader in another process keeps a turn going, and its leaving starts the grace time", async () => {
  const { clock, one, two } = twoProcesses();
  const turnId = await leftBehind(one.turns, { graceMs: 20_000 });
  const elsewhere = new FakeReader(two.turns, turnId);
  await clock.advance(200_000);
  expect(await one.turns.get(turnId)).toMatchObject({ ended: false });
  await elsewhere.leave();
  await clock.advance(14_000);
  expect(await one.turns.get(turnId)).toMatchObject({ ended: false });
  await clock.advance(20_000);
  expect(await one.turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
});

test("a client that joins a turn counts as a reader before its first read, until it disconnects", async () => {
  const { turns, clock } = begin();
  const turnId = await leftBehind(turns, { graceMs: 1_000 });
  const client = new AbortController();
  expect((await turns.start(asking(), client.signal)).turnId).toBe(turnId);
  await clock.advance(10_000);
  expect(await turns.get(turnId)).toMatchObject({ ended: false });
  client.abort();
  await clock.advance(1_000);
  expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
});

test.each([
  ["no session", { session: undefined }],
  ["another session", { session: "s2" }],
  ["the same session of another caller", { session: "s", caller: "caller-2" }],
])("a conversation of %s ends nothing that a client left behind", async (_, other) => {
  const { turns } = begin();
  const left = await leftBehind(turns, { session: "s" });
  const nameless = await leftBehind(turns, { fingerprint: "body-2" });
  await turns.start(goingOn({ ...other, fingerprint: "body-3" }), never);
  await idle();
  for (const turnId of [left, nameless]) expect(await turns.get(turnId)).toMatchObject({ ended: false });
});

test("a client whose stream broke gets its answer, also after a sub-agent's or a title's request of its session", async () => {
  const { turns, backend } = begin();
  const left = await leftBehind(turns, { session: "s" });
  for (const [i, text] of ["Hello, and more", "Write a title for: Hello"].entries()) {
    const messages = [{ role: "user", parts: [{ type: "text", text }] }] as const;
    const request = { ...plainRequest, messages };
    await turns.start(asking({ session: "s", fingerprint: `other-${i}`, request }), never);
  }
  await idle();
  const again = await turns.start(asking({ session: "s" }), never);
  expect(again).toMatchObject({ turnId: left, joined: "implicit" });
  backend.answers[0]?.finish("whole");
  await until(async () => (await turns.get(left))?.outcome === "finished");
  expect(backend.answers).toHaveLength(3);
});

test("a client that goes on in its conversation without the answer has given the answer up", async () => {
  const { turns } = begin();
  const left = await leftBehind(turns, { session: "s" });
  const read = await turns.start(asking({ session: "s", fingerprint: "read" }), never);
  const reader = new FakeReader(turns, read.turnId);
  await reader.seen("started");
  const endless = await leftBehind(turns, { session: "s", fingerprint: "endless", graceMs: Infinity });
  await turns.start(goingOn({ session: "s", fingerprint: "next" }), never);
  await until(async () => (await turns.get(left))?.outcome === "cancelled");
  for (const turnId of [read.turnId, endless]) expect(await turns.get(turnId)).toMatchObject({ ended: false });
  await reader.leave();
});

test("a request ends neither itself nor what was asked after it in its session", async () => {
  const { store, clock, turns } = begin();
  const later = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const list = store.list.bind(store);
  store.list = async (filter) => {
    if (filter.session !== undefined && filter.open === true) {
      asked.resolve();
      await later.promise; // the first request is slow to look for the turns of its session
    }
    return list(filter);
  };
  const clients = [new AbortController(), new AbortController()] as const;
  const first = turns.start(asking({ session: "s" }), clients[0].signal);
  await asked.promise;
  store.list = list;
  await clock.advance(1);
  const second = await turns.start(goingOn({ session: "s", fingerprint: "body-2" }), clients[1].signal);
  for (const client of clients) client.abort();
  await idle();
  later.resolve();
  const { turnId } = await first;
  await idle();
  expect(await turns.get(second.turnId)).toMatchObject({ ended: false });
  expect(await turns.get(turnId)).toMatchObject({ ended: false });
});

test("a turn that is removed is stopped, and unknown from then on", async () => {
  const { turns, backend } = begin();
  const turnId = await leftBehind(turns);
  await turns.remove(turnId);
  await until(() => backend.last.closed);
  expect(backend.last).toMatchObject({ stoppedBy: "cancel", closed: true });
  expect(await turns.get(turnId)).toBeUndefined();
  await expect(eachDelivered(() => turns.open(turnId, startOfLog, never)).next()).rejects.toMatchObject({
    code: "invalid_request",
  });
});

test("a turn that was adopted goes on for half a minute at least without a reader", async () => {
  const clock = new FakeClock();
  const readers = new Readers({ store: openMemoryLog({ clock }), clock, owner: "one" });
  const turn = { turnId: "turn_1" as TurnId, graceMs: 0 };
  let abandoned = "";
  void readers.untilAbandoned(turn, true, never).then(() => (abandoned = "adopted"));
  await clock.advance(29_000);
  expect(abandoned).toBe("");
  await clock.advance(1_000);
  expect(abandoned).toBe("adopted");
});
