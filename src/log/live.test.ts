import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { type CascadeId, type ModelUid, startOfLog } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import { eventIdOf, type TurnEventBody } from "./event.ts";
import { openLog, openMemoryLog } from "./live.ts";
import { begin, created, finished, gatewayKey, never, now, text } from "./live-log.fake.ts";
import { eachOf, readAll, readTurn } from "./read-turn.ts";
import { openSqliteRows } from "./sqlite.ts";
import { describeLogStore } from "./store.conformance.ts";
import { newTurn } from "./turn.fake.ts";

const started: TurnEventBody = {
  type: "started",
  modelUid: "m" as ModelUid, // a made-up id
  backend: "cascade",
  cascadeId: "c" as CascadeId, // a made-up id
};
const alone = { survivesRestart: false, isShared: false };
const idsOf = (events: readonly { readonly eventId: string }[]) => events.map(({ eventId }) => eventId);

describeLogStore("in memory", alone, async () => ({
  open: (clock) => openMemoryLog({ clock }),
  dispose: async () => {},
}));

const inFile = { survivesRestart: true, isShared: false };
describeLogStore("in a SQLite file", inFile, async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  const open = async () => ({ rows: await openSqliteRows({ path: join(folder, "log.db") }), gatewayKey });
  return {
    open: (clock) => openLog({ open, abilities: inFile, clock }),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

test("a client's message is on the disk before it is acknowledged", async () => {
  const rows = await openSqliteRows({ path: ":memory:" });
  const commit = vi.spyOn(rows, "commit");
  const log = await openLog({ open: async () => ({ rows, gatewayKey }), abilities: alone, clock: new FakeClock() });
  const name = { caller: "caller-1", name: "stream", clientKey: undefined };
  const stream = await log.attachStream(name, "create");
  commit.mockClear();
  expect(await log.admit(stream, { seqno: 0, payload: new Uint8Array(1) })).toMatchObject({ outcome: "admitted" });
  expect(commit.mock.calls.map(([, flushes]) => flushes)).toEqual([true]);
  await log.close();
});

describe("a store that fails", () => {
  test("is told after five seconds to who reads a turn that an earlier process left, and not to its observers", async () => {
    const { clock, failing, log, other } = await begin();
    const left = await created(other);
    const read = () => log.readAfter(left.turnId, startOfLog, { limit: 1, wait: never });
    const [reading, watching] = [read(), log.readOutlineAfter(left.turnId, startOfLog, { limit: 1, wait: never })];
    const told = reading.catch((error: unknown) => error);
    failing.fault = "full";
    await created(log);
    await clock.advance(5_000);
    expect(await told).toMatchObject({
      message: expect.stringMatching(/^The answer goes on once the log can be written\. The log/),
    });
    await expect(read()).rejects.toMatchObject({ code: "unavailable", hint: expect.stringContaining("same request") });
    failing.fault = "none";
    await clock.advance(1_000);
    const again = read();
    await left.writer.append([text("a")], now);
    expect((await again).events).toMatchObject([{ delta: "a" }]);
    expect((await watching).events).toHaveLength(1);
  });

  test.each(["full", "gone"] as const)(
    "because it is %s leaves a new turn without a key in memory, and says so once",
    async (fault) => {
      const { failing, log, said } = await begin();
      failing.fault = fault;
      const { record, writer, turnId } = await created(log);
      await created(log);
      expect(record.degraded).toBe(true);
      await writer.append([started, text("a"), finished], now);
      expect(await writer.append([text("late")], now)).toBe("ended");
      expect(await readAll(log, turnId)).toHaveLength(3);
      expect(await log.get(turnId)).toMatchObject({ degraded: true, ended: true, outcome: "finished" });
      expect(await log.list({ limit: 9 })).toMatchObject([{ degraded: true }, { turnId }]);
      expect(said).toEqual(["degraded"]);
      expect(log.degradedBy?.code).toBe("degraded");
      await log.close();
    },
  );

  test.each(["full", "gone"] as const)(
    "because it is %s refuses a new turn with a key, with the reason, each time",
    async (fault) => {
      const { failing, log, clock } = await begin();
      failing.fault = fault;
      for (let times = 0; times < 2; times++)
        await expect(log.create(newTurn({ idempotencyKey: "k" }), "owner-1")).rejects.toMatchObject({
          code: "unavailable",
          message: expect.stringContaining("no prompt was sent. The log's file"),
        });
      failing.fault = "none";
      await clock.advance(2_000);
      expect((await log.create(newTurn({ idempotencyKey: "k" }), "owner-1")).writer).toBeDefined();
      await log.close();
    },
  );

  test("does not keep an answer from a request with the key that it was stored under", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log, { idempotencyKey: "k" });
    await writer.append([started, text("a"), finished], now);
    failing.fault = "full";
    const [held] = await log.list({ caller: "caller-1", idempotencyKey: "k", limit: 1 });
    expect(held?.turnId).toBe(turnId);
    await log.close();
  });

  test.each(["full", "gone"] as const)(
    "because it is %s in the middle of a turn costs its readers no event",
    async (fault) => {
      const { failing, log } = await begin();
      const { writer, turnId } = await created(log, { idempotencyKey: "k" });
      const live: string[] = [];
      const reading = (async () => {
        for await (const event of eachOf(readTurn(log, { turnId, after: startOfLog }, never))) live.push(event.eventId);
      })();
      await writer.append([started], now);
      await writer.append([text("b")], now);
      failing.fault = fault;
      await writer.append([text("c")], now);
      await writer.append([text("d"), finished], now);
      await reading;
      expect(live).toEqual(["a1", "a2", "a3", "a4", "a5"]);
      expect(idsOf(await readAll(log, turnId))).toEqual(live);
      expect(await log.get(turnId)).toMatchObject({ degraded: true, ended: true });
      await log.close();
    },
  );

  test("when a prompt is about to be sent stops a turn with a key, whose next request starts it anew", async () => {
    const { failing, log, clock } = await begin();
    const { writer, turnId } = await created(log, { idempotencyKey: "k" });
    const reading = log.untilEnded(turnId, never);
    failing.fault = "full";
    const refused = { code: "unavailable" };
    await expect(writer.append([started], now)).rejects.toMatchObject(refused);
    await expect(reading).rejects.toMatchObject(refused);
    await expect(readAll(log, turnId)).rejects.toMatchObject(refused);
    failing.fault = "none";
    await clock.advance(2_000);
    await log.sweep();
    expect((await log.create(newTurn({ idempotencyKey: "k" }), "owner-1")).writer).toBeDefined();
    await log.close();
  });

  test("writes what it lacks of a turn once it works again, but not of one that another process has by then", async () => {
    const { failing, log, clock, other } = await begin();
    const { writer, turnId } = await created(log);
    const { turnId: taken, writer: late } = await created(log);
    failing.fault = "full";
    for (const each of [writer, late]) await each.append([started, text("a")], now);
    await other.claim(taken, "owner-2");
    failing.fault = "none";
    await clock.advance(2_000);
    expect(idsOf(await readAll(other, turnId))).toEqual(["a1", "a2"]);
    for (const each of [writer, late]) await each.append([text("b"), finished], now);
    expect(await readAll(other, turnId)).toHaveLength(4);
    expect(await log.get(turnId)).toMatchObject({ degraded: false, ended: true });
    expect(await readAll(log, taken)).toHaveLength(4);
    expect(await readAll(other, taken)).toEqual([]);
    await log.close();
  });

  test("and dies loses events that readers have; nobody reads on from others of their numbers", async () => {
    const { failing, log, clock, other } = await begin();
    const { writer, turnId } = await created(log);
    await writer.append([started], now);
    failing.fault = "full";
    for (const delta of ["a", "b", "c"]) await writer.append([text(delta)], now);
    expect(idsOf(await readAll(log, turnId))).toEqual(["a1", "a2", "a3", "a4"]);
    const next = await other.claim(turnId, "owner-2");
    for (const delta of ["ab", "c", "d", "e"]) await next?.writer.append([text(delta)], now);
    const ids = ["a1", "a2-2", "a3-2", "a4-2", "a5-2"];
    const third = await openLog({ open: async () => ({ rows: failing.rows, gatewayKey }), abilities: alone, clock });
    for (const each of [other, third]) {
      expect(idsOf(await readAll(each, turnId))).toEqual(ids);
      await expect(each.readAfter(turnId, eventIdOf(3), { limit: 9 })).rejects.toThrow("was lost");
    }
    expect(await third.get(turnId)).toMatchObject({ lastEventId: "a5-2", claims: [1] });
    await log.close();
  });

  test("when a turn has just ended costs those who still read it nothing, and nothing of it is left here once they have", async () => {
    const { clock, failing, other, log } = await begin();
    const { writer, turnId } = await created(log);
    const reader = eachOf(readTurn(log, { turnId, after: startOfLog }, never));
    await writer.append([text("a")], now);
    expect((await reader.next()).value).toMatchObject({ eventId: "a1" });
    await writer.append([text("b"), finished], now);
    failing.fault = "gone";
    const rest: string[] = [];
    for await (const { eventId } of reader) rest.push(eventId);
    expect(rest).toEqual(["a2", "a3"]);
    failing.fault = "none";
    await clock.advance(2_000);
    expect(idsOf(await readAll(other, turnId))).toEqual(["a1", "a2", "a3"]);
    await log.noteDelivered(turnId);
    failing.fault = "gone";
    await expect(readAll(log, turnId)).rejects.toMatchObject({ code: "degraded" });
    await log.close();
  });

  test("and works again stores new turns and what it lacked of old ones; a turn that it never had stays in memory until it expires", async () => {
    const { clock, failing, other, log, said } = await begin();
    const before = await created(log);
    await before.writer.append([started, text("a")], now);
    failing.fault = "full";
    await before.writer.append([text("b")], now);
    const during = await created(log);
    await during.writer.append([text("x"), finished], now);
    failing.fault = "none";
    await clock.advance(2_000);
    expect(said).toEqual(["degraded", undefined]);
    await before.writer.append([text("c"), finished], now);
    expect(idsOf(await readAll(log, before.turnId))).toEqual(["a1", "a2", "a3", "a4", "a5"]);
    expect(await readAll(other, before.turnId)).toHaveLength(5);
    expect(await other.get(during.turnId)).toBeUndefined();
    const after = await created(log);
    expect(after.record.degraded).toBe(false);
    await clock.advance(2 * 3_600_000);
    await log.sweep();
    expect(await log.get(during.turnId)).toBeUndefined();
    await log.close();
  });

  test.each([
    ["nobody has taken it up", false],
    ["another gateway has taken it up", true],
  ])("and works again removes a turn that it took without an answer, unless %s", async (_, isTaken) => {
    const { clock, failing, other, log } = await begin();
    failing.answers = Promise.reject(new MillraceError("degraded", "The log's file was gone for a moment."));
    failing.answers.catch(() => {});
    const { turnId } = await created(log); // the store has it, and nobody here knows
    failing.answers = Promise.resolve();
    if (isTaken) await other.claim(turnId, "owner-2");
    await clock.advance(2_000);
    expect(log.degradedBy).toBeUndefined();
    expect((await other.get(turnId)) !== undefined).toBe(isTaken);
    await log.close();
  });

  test("still lets this process cancel its turns", async () => {
    const { failing, log } = await begin();
    const { turnId } = await created(log);
    failing.fault = "full";
    await expect(log.requestCancel(turnId, "client")).resolves.toBe(true);
    expect(await log.untilCancelRequested(turnId, never)).toBe("client");
    await log.close();
  });

  test("opens later when it could not be opened at first", async () => {
    const clock = new FakeClock();
    const rows = await openSqliteRows({ path: ":memory:" });
    let locked = true;
    const log = await openLog({
      open: async () => {
        if (locked) throw new MillraceError("degraded", "The log's file is locked.");
        return { rows, gatewayKey };
      },
      abilities: alone,
      clock,
    });
    const { turnId, writer } = await created(log);
    await writer.append([finished], clock.now());
    locked = false;
    await clock.advance(2_000);
    expect(log.degradedBy).toBeUndefined();
    expect(await readAll(log, turnId)).toHaveLength(1);
    expect((await created(log)).record.degraded).toBe(false);
    await log.close();
  });

  test("keeps a new client's stream and its turns in memory, and never makes a second one of one that it holds", async () => {
    const { failing, log, clock } = await begin();
    const named = (name: string) => ({ caller: "caller-1", name, clientKey: gatewayKey });
    const payload = new Uint8Array([1]);
    const old = named("old");
    const { nextTicket } = await log.attachStream(old, "create");
    failing.fault = "full";
    await expect(log.attachStream(old, "create", nextTicket)).rejects.toMatchObject({ code: "degraded" });
    const fresh = named("fresh");
    const stream = await log.attachStream(fresh, "create");
    expect(stream.degraded).toBe(true);
    const turn = newTurn();
    const admitted = await log.admit(stream, { seqno: 0, payload }, { turn, owner: "owner-1" });
    if (admitted.outcome !== "admitted" || admitted.turn === undefined) throw new Error("it was not admitted");
    await admitted.turn.writer.append([text("a"), finished], now);
    failing.fault = "none";
    await clock.advance(2_000);
    const again = await log.attachStream(fresh, "resume", stream.nextTicket);
    expect(again).toMatchObject({ degraded: true, accepted: [{ seqno: 0, turnId: turn.turnId }] });
    expect(await log.requestCancel(turn.turnId, "client", stream)).toBe(false);
    const { events } = await log.readAfter(turn.turnId, startOfLog, { limit: 9, clientKey: gatewayKey });
    expect(events).toHaveLength(2);
    expect((await log.attachStream(old, "resume", nextTicket)).degraded).toBe(false);
    await log.close();
  });
});

describe("a running turn", () => {
  const long = (i: number): TurnEventBody => ({ type: "text", delta: String(i % 10).repeat(40_000) });

  test("is read without its store, but for the beginning of a long answer, which memory has dropped", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log);
    for (let i = 0; i < 40; i++) await writer.append([long(i)], now);
    const whole = idsOf(await readAll(log, turnId));
    expect(whole).toEqual(Array.from({ length: 40 }, (_, i) => eventIdOf(i + 1)));
    failing.fault = "gone";
    const page = (seq: number) => log.readAfter(turnId, eventIdOf(seq), { limit: 9 });
    expect(idsOf((await page(37)).events)).toEqual(whole.slice(37));
    await expect(page(0)).rejects.toMatchObject({ code: "degraded" });
    await log.close();
  });

  test("keeps all that the store did not take, however much that is", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log);
    failing.fault = "gone";
    for (let i = 0; i < 40; i++) await writer.append([long(i)], now);
    expect(await readAll(log, turnId)).toHaveLength(40);
    await log.close();
  });

  test("is read on by a reader who has events from the store before its writer has heard that they are stored", async () => {
    const { failing, log, other } = await begin();
    const { writer, turnId } = await created(other);
    await writer.append([started], now);
    const claimed = await log.claim(turnId, "owner-2");
    const heard = Promise.withResolvers<void>();
    failing.answers = heard.promise;
    const appended = claimed?.writer.append([text("a")], now);
    expect(idsOf((await log.readAfter(turnId, startOfLog, { limit: 9 })).events)).toEqual(["a1", "a2-2"]);
    const next = log.readAfter(turnId, eventIdOf(2, [1]), { limit: 9, wait: never });
    await expect(log.readAfter(turnId, eventIdOf(3, [1]), { limit: 9 })).rejects.toThrow("beyond the last event");
    heard.resolve();
    await appended;
    await claimed?.writer.append([finished], now);
    expect(idsOf((await next).events)).toEqual(["a3-2"]);
    await log.close();
  });

  test("whose store fails in an unknown way shows what it has, and then the error to everyone who waits", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log);
    await writer.append([text("a")], now);
    const reader = eachOf(readTurn(log, { turnId, after: startOfLog }, never));
    expect((await reader.next()).value).toMatchObject({ eventId: "a1" });
    const [next, ended] = [reader.next(), log.untilEnded(turnId, never)];
    failing.fault = "broken";
    const waits = [writer.append([text("b")], now), next, ended];
    for (const { status, ...rest } of await Promise.allSettled(waits))
      expect({ status, ...rest }).toMatchObject({
        status: "rejected",
        reason: { message: "no code of this is known" },
      });
    const later = eachOf(readTurn(log, { turnId, after: startOfLog }, never));
    expect((await later.next()).value).toMatchObject({ eventId: "a1" });
    await expect(later.next()).rejects.toThrow("no code of this is known");
    await expect(log.untilEnded(turnId, never)).rejects.toThrow("no code of this is known");
    failing.fault = "none";
    await log.close();
  });

  test("that its client sealed and a restart took up opens to that key alone, in memory too", async () => {
    const key = (byte: number) => new Secret(Buffer.alloc(32, byte).toString("base64url"));
    const { log: before, other: after } = await begin();
    const { record, writer } = await before.create(newTurn(), "owner-1", { clientKey: key(2) });
    await writer?.append([text("a")], now);
    const { turnId } = record;
    const claimed = await after.claim(turnId, "owner-2");
    expect(idsOf((await claimed?.readAll()) ?? [])).toEqual(["a1"]);
    await claimed?.writer.append([text("b")], now);
    const outline = await after.readOutlineAfter(turnId, startOfLog, { limit: 9 }); // for observers, without a text
    expect(idsOf(outline.events)).toEqual(["a1", "a2-2"]);
    const read = async (clientKey?: Secret) =>
      (await after.readAfter(turnId, eventIdOf(1), { limit: 9, clientKey })).events.length;
    expect(await read(key(2))).toBe(1);
    expect(await read(key(2))).toBe(1);
    for (const wrong of [undefined, key(3)])
      await expect(read(wrong)).rejects.toMatchObject({ code: "invalid_request", message: "There is no such turn." });
    await after.close();
  });
});
