import { expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import type { Clock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import { type ModelUid, startOfLog, type TurnId } from "../base/ids.ts";
import { idle, until } from "../base/wait.fake.ts";
import type { TerminalEvent } from "../log/event.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import type { LogStore, TurnLabel } from "../log/store.ts";
import { TurnQueue } from "./queue.ts";
import { openReads } from "./read.ts";
import { Readers } from "./readers.ts";
import { type ModelLimit, Refusals } from "./refusals.ts";
import { asking, bound, durable, FakeReader, goingOn, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
const begin = stoppedTurns();
const turnId = "turn_1" as TurnId; // any text will do, as below
const modelUid = "some-model" as ModelUid;
const hourMs = 3_600_000;

test("a turn that waits is served by its age, also where it comes to the queue later", async () => {
  const queue = new TurnQueue({ clock: new FakeClock(), isWanted: () => true, mostTurns: () => 1 });
  const enter = (id: string, signal = never) =>
    queue.enter({ turnId: id as TurnId, modelUid, graceMs: 0 }, "new", signal);
  const leave = await enter("turn_3");
  const [young, old] = [enter("turn_5"), enter("turn_4")];
  expect(["turn_4", "turn_5"].map((id) => queue.placeOf(id as TurnId)?.position)).toEqual([1, 2]);
  leave();
  (await old)();
  (await young)();
  expect(queue.load).toEqual({ running: 0, waiting: 0 });
  const given = new AbortController();
  const [kept, gone] = [await enter("turn_6"), enter("turn_7", given.signal)];
  given.abort();
  (await gone)();
  expect(queue.load).toEqual({ running: 1, waiting: 0 });
  kept();
});

/** Readers of a gateway that shares its store, whose clock is so far ahead. */
function sharedReaders(apartMs = hourMs) {
  const clock = new FakeClock();
  const its: Clock = {
    now: () => clock.now() + apartMs,
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const store: LogStore = durable(openMemoryLog({ clock: its }));
  Object.assign(store, { isEarlier: () => false });
  return { clock, store, readers: new Readers({ store, clock, owner: "here/1" }) };
}

test("a reader that leaves twice has left once", () => {
  const { readers } = sharedReaders();
  const [leave, other] = [readers.enter(turnId), readers.enter(turnId)];
  leave();
  leave();
  expect(readers.has(turnId)).toBe(true);
  other();
  expect(readers.has(turnId)).toBe(false);
});

test("a turn of another home is read for ten seconds after a reader was noted, by the store's clock", () => {
  const { readers, store } = sharedReaders();
  const label = { turnId, owner: "there/1" } as TurnLabel; // nothing else of it is looked at
  const isRead = (agoMs: number) => readers.isRead({ ...label, attachedAtMs: store.now() - agoMs });
  expect([0, 9_999, 10_000].map(isRead)).toEqual([true, true, false]);
  expect(readers.isRead({ ...label, owner: "here/1", attachedAtMs: store.now() })).toBe(false);
});

test("a turn that no longer runs here is forgotten, with the grace time that it had", async () => {
  const { readers, clock } = sharedReaders();
  const watch = (graceMs: number) => {
    const over = new AbortController();
    const watched = readers.untilAbandoned({ turnId, graceMs }, false, over.signal).catch(() => undefined);
    return { untilMs: readers.unread(turnId)?.untilMs, end: () => (over.abort(), watched) };
  };
  const first = watch(60_000);
  expect(first.untilMs).toBe(clock.now() + 60_000);
  await first.end();
  const second = watch(1_000);
  expect(second.untilMs).toBe(clock.now() + 1_000);
  await second.end();
});

test.each([-hourMs, 0, hourMs])(
  "a reader elsewhere keeps a turn going, whose leaving starts the grace time, where the store's clock is %i ms ahead",
  async (apartMs) => {
    const { clock, store, readers } = sharedReaders(apartMs);
    let isAbandoned = false;
    const { record } = await store.create({ ...asking(), turnId, createdAtMs: clock.now(), graceMs: 20_000 }, "here/1");
    void readers.untilAbandoned(record, false, never).then(() => (isAbandoned = true));
    for (let s = 0; s < 60; s += 5) {
      await store.noteReader(turnId, store.now());
      await clock.advance(5_000);
    }
    await clock.advance(14_999);
    expect(isAbandoned).toBe(false);
    await clock.advance(20_000);
    expect(isAbandoned).toBe(true);
  },
);

/** Refusals over a server that reports these limits, one for each look; nothing once they are told. */
function refusals(...limits: readonly (ModelLimit | undefined)[]) {
  const clock = new FakeClock();
  const told = [...limits];
  const made = new Refusals({ clock, limitOf: async () => told.shift() });
  const refuse = async (options: { readonly retryAfterMs?: number } = {}) => {
    const error = new MillraceError("rate_limited", "Wait.", options).toRecord();
    const [end] = made.watch(modelUid).push(await made.withLimit({ type: "failed", error }, modelUid));
    return end as TerminalEvent; // as it went in
  };
  return { clock, made, refuse, leftMs: () => (made.blocked[0]?.untilMs ?? clock.now()) - clock.now() };
}

test("a limit that the server reported holds for that refusal alone, not for a later one that it knows nothing of", async () => {
  const { clock, made, refuse, leftMs } = refusals({ hasCapacity: false, resetsInMs: hourMs }, undefined);
  await refuse();
  expect(leftMs()).toBe(hourMs);
  made.watch(modelUid).push({ type: "finished", reason: { unified: "stop", raw: undefined }, text: "" });
  expect(made.blocked).toEqual([]);
  await clock.advance(1_000);
  await refuse();
  expect(leftMs()).toBe(30_000);
});

test("a refusal is repeated without a prompt for a minute at most, however long it asks to wait", async () => {
  const { clock, made, refuse } = refusals();
  await refuse({ retryAfterMs: 10 * 60_000 });
  await clock.advance(59_999);
  await expect(made.check(modelUid)).rejects.toMatchObject({ repeated: true });
  await clock.advance(1);
  await made.check(modelUid);
});

test("what a turn took is given back once it is over, and what one that was never stored took too", async () => {
  let admitted = 0;
  const admission = { admit: () => (admitted++, () => void admitted--) };
  const clock = new FakeClock();
  const store = bound(openMemoryLog({ clock }));
  const real = { ...store };
  const { turns, backend } = begin({ store, clock, admission });
  store.create = async () => Promise.reject(new MillraceError("degraded", "The disk is full."));
  await expect(turns.start(asking(), never)).rejects.toMatchObject({ code: "degraded" });
  expect(admitted).toBe(0);
  store.create = (...asked) => real.create(...asked);
  const same = () => turns.start(asking({ idempotencyKey: "k" }), never);
  const [one, other] = await Promise.all([same(), same()]);
  expect(one.turnId).toBe(other.turnId);
  expect(admitted).toBe(1);
  const reader = new FakeReader(turns, one.turnId);
  await until(() => backend.sent.length > 0);
  const answer = backend.sent.at(-1);
  answer?.text("a");
  expect(turns.lastAliveAtMs(one.turnId)).toBe(clock.now());
  answer?.finish("a");
  await reader.done;
  await until(() => answer?.closed === true);
  await idle();
  expect(turns.lastAliveAtMs(one.turnId)).toBeUndefined();
  expect(turns.load()).toEqual({ running: 0, waiting: 0 });
});

test("that a turn was abandoned is stored before its backend is stopped", async () => {
  const clock = new FakeClock();
  const store = bound(openMemoryLog({ clock }));
  const { turns, backend } = begin({ store, clock, graceMs: 1_000 });
  const started = await turns.start(asking(), never);
  const reader = new FakeReader(turns, started.turnId);
  await reader.seen("started");
  const real = { ...store };
  const stored = Promise.withResolvers<void>();
  let asked: string | undefined;
  store.requestCancel = async (...request) => {
    [, asked] = request;
    await stored.promise;
    return real.requestCancel(...request);
  };
  await reader.leave();
  await clock.advance(1_000);
  expect(asked).toBe("abandoned");
  expect(backend.last.stoppedBy).toBeUndefined();
  stored.resolve();
  await until(() => backend.last.closed);
  expect(backend.last.stoppedBy).toBe("cancel");
});

test("a request that joins a turn by its key hears of it once the turn is on the disk", async () => {
  const { turns, clock } = begin({ limits: { mostTurns: () => 0 } }); // its first event, which flushes it, never comes
  let heard = 0;
  const ask = () => turns.start(asking({ idempotencyKey: "k" }), never).then(() => heard++);
  const first = ask();
  await idle();
  const second = ask();
  await clock.advance(249);
  expect(heard).toBe(0);
  await clock.advance(1);
  await Promise.all([first, second]);
});

test("a reader whose delivery cannot be stored has left all the same", async () => {
  const { clock, readers, store } = sharedReaders(0);
  const reads = openReads(store, readers, never);
  Object.assign(store, { noteDelivered: async () => Promise.reject(new Error("the disk is full")) });
  const reader = reads.open(turnId, startOfLog, never);
  expect(readers.has(turnId)).toBe(true);
  await expect(reader.close(true)).rejects.toThrow("full");
  await reader.close(true);
  expect(readers.has(turnId)).toBe(false);
  expect(clock.sleeping).toBe(0);
});

test("what has expired is erased at the start, and then each minute until the stop", async () => {
  const clock = new FakeClock();
  const store = bound(openMemoryLog({ clock }));
  let sweeps = 0;
  store.sweep = async () => void sweeps++;
  const { turns } = begin({ store, clock });
  await idle();
  const seen = [sweeps];
  for (const ms of [59_999, 1, 60_000]) {
    await clock.advance(ms);
    seen.push(sweeps);
  }
  await turns.stop();
  await clock.advance(120_000);
  expect([...seen, sweeps]).toEqual([1, 1, 2, 3, 3]);
});

test("a request ends no turn that was asked after it, also one whose history is shorter", async () => {
  const clock = new FakeClock();
  const store = bound(openMemoryLog({ clock }));
  const real = { ...store };
  const [asked, goes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { turns } = begin({ store, clock });
  store.list = async (filter) => {
    if (filter.session !== undefined && filter.open === true) {
      asked.resolve();
      await goes.promise; // it is slow to look for the turns of its session
    }
    return real.list(filter);
  };
  const first = turns.start(goingOn({ session: "s" }), never);
  await asked.promise;
  store.list = (filter) => real.list(filter);
  await clock.advance(1);
  const client = new AbortController();
  const second = await turns.start(asking({ session: "s", fingerprint: "body-2" }), client.signal);
  client.abort();
  await idle();
  goes.resolve();
  await first;
  await idle();
  expect(await turns.get(second.turnId)).toMatchObject({ ended: false });
});
