import { describe, expect, test } from "vitest";
import { type ModelUid, startOfLog, type TurnId } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import type { LogStore } from "./store.ts";
import { finished, never, type StoreWorld, text } from "./store-world.fake.ts";
import { newTurn } from "./turn.fake.ts";

/** The cases for turns that every log store passes: keys, writers, cancel requests, retention. Called inside its suite. */
export function describeTurns(world: StoreWorld): void {
  const { begin, collect } = world;

  describe("turns", () => {
    test("are found again as they were created", async () => {
      const turn = newTurn({
        session: "s",
        idempotencyKey: "k",
        graceMs: Infinity,
        wire: { a: [1] },
        client: "x/1",
        project: "p",
        modelRule: "alias",
      });
      await world.store.create(turn, "owner-1");
      expect(await world.store.get(turn.turnId)).toMatchObject({ ...turn, ended: false, owner: "owner-1" });
      expect(await world.store.get("turn_none" as TurnId)).toBeUndefined();
    });

    test("continue without a reader for the longest time that a client asked for", async () => {
      const { turnId } = await begin({ graceMs: 1_000 });
      const graceMs = async () => (await world.store.get(turnId))?.graceMs;
      for (const [asked, longest] of [
        [undefined, 1_000],
        [500, 1_000],
        [3_600_000, 3_600_000],
        [2_000, 3_600_000],
        [Infinity, Infinity],
        [undefined, Infinity],
        [1, Infinity],
      ] as const) {
        await world.store.noteReader(turnId, world.clock.now(), asked);
        expect(await graceMs()).toBe(longest);
      }
      expect(await world.store.listRunning()).toMatchObject([{ turnId, graceMs: Infinity }]);
      expect((await world.store.claim(turnId, "o2"))?.record.graceMs).toBe(Infinity);
    });

    test("that run are listed for adoption", async () => {
      const mine = await world.store.create(newTurn(), "me");
      const other = await world.store.create(newTurn(), "other");
      const ended = await world.store.create(newTurn(), "other");
      await ended.writer?.append([finished], 1);
      const ids = (await world.store.listRunning()).map(({ turnId }) => turnId);
      expect(ids.sort()).toEqual([mine.record.turnId, other.record.turnId].sort());
    });

    test("that run: the age of the oldest is known, also of one that a client sealed", async () => {
      expect(await world.store.oldestRunningMs()).toBe(Infinity);
      const nowMs = world.clock.now();
      const clientKey = new Secret(Buffer.alloc(32, 7).toString("base64url"));
      const oldest = await world.store.create(newTurn({ createdAtMs: nowMs - 2_000 }), "me", { clientKey });
      const newer = await world.store.create(newTurn({ createdAtMs: nowMs - 1_000 }), "other");
      expect(await world.store.oldestRunningMs()).toBe(nowMs - 2_000);
      await oldest.writer?.append([finished], nowMs);
      expect(await world.store.oldestRunningMs()).toBe(nowMs - 1_000);
      await newer.writer?.append([finished], nowMs);
      expect(await world.store.oldestRunningMs()).toBe(Infinity);
    });

    test("with one caller's key are one turn, in either order", async () => {
      const first = await world.store.create(newTurn({ idempotencyKey: "k", fingerprint: "f" }), "o");
      const second = await world.store.create(newTurn({ idempotencyKey: "k", fingerprint: "g" }), "o");
      expect(second.writer).toBeUndefined();
      expect(second.record).toMatchObject({ turnId: first.record.turnId, fingerprint: "f" });
      const other = await world.store.create(newTurn({ idempotencyKey: "k", caller: "caller-2" }), "o");
      expect(other.writer).toBeDefined();
    });

    test("are listed newest first, by caller, fingerprint, session, key and whether they run", async () => {
      const a = await begin({ session: "s1", fingerprint: "f" });
      const b = await begin({ session: "s2", fingerprint: "f", idempotencyKey: "k" });
      const c = await begin({ caller: "caller-2", session: "s1" });
      await a.writer.append([finished], 1);
      const ids = async (filter: Partial<Parameters<LogStore["list"]>[0]>) =>
        (await world.store.list({ limit: 10, ...filter })).map(({ turnId }) => turnId);
      expect(await ids({})).toEqual([c.turnId, b.turnId, a.turnId]);
      expect(await ids({ limit: 1 })).toEqual([c.turnId]);
      expect(await ids({ caller: "caller-1", fingerprint: "f" })).toEqual([b.turnId, a.turnId]);
      expect(await ids({ caller: "caller-1", session: "s1" })).toEqual([a.turnId]);
      expect(await ids({ caller: "caller-2", session: "s1" })).toEqual([c.turnId]);
      expect(await ids({ caller: "caller-1", idempotencyKey: "k" })).toEqual([b.turnId]);
      expect(await ids({ caller: "caller-2", idempotencyKey: "k" })).toEqual([]);
      expect(await ids({ open: true })).toEqual([c.turnId, b.turnId]);
      expect(await ids({ open: false })).toEqual([a.turnId]);
    });

    test("are listed with all that lists show, and without the request", async () => {
      const facts = {
        session: "s",
        idempotencyKey: "k",
        client: "x/1",
        project: "p",
        modelRule: "alias",
        account: "a",
      };
      const turn = newTurn({ ...facts, graceMs: Infinity, wire: { a: [1] } });
      const { writer } = await world.store.create(turn, "owner-1");
      const { request, wire: _wire, ...label } = turn;
      const running = { ...label, request: { model: request.model }, messageCount: 1, owner: "owner-1" };
      for (const listed of await Promise.all([
        world.store.list({ limit: 5 }),
        world.store.listRunning(),
        world.store.getLabel(turn.turnId).then((found) => [found]),
      ])) {
        expect(listed).toMatchObject([{ ...running, ended: false, lastEventId: startOfLog }]);
      }
      const counts = { promptTokens: 9, completionTokens: 4, thinkingTokens: 0 };
      const started = { type: "started", modelUid: "m" as ModelUid, backend: "cascade", cascadeId: undefined } as const;
      await writer?.append([started, { type: "thinking", delta: "hm" }], 3);
      await writer?.append([text("one"), text("two"), { type: "usage", ...counts, estimated: false }], 5);
      await writer?.append([{ type: "usage", ...counts, promptTokens: 1, estimated: true }, finished], 7);
      const outline = [
        { type: "started", modelUid: "m", backend: "cascade", eventId: "a1", atMs: 3 },
        { type: "thinking", characters: 8, eventId: "a2", atMs: 3 },
        { type: "usage", ...counts, estimated: false, eventId: "a5", atMs: 5 },
        { type: "finished", reason: "stop", eventId: "a7", atMs: 7 },
      ];
      expect(await world.store.list({ limit: 5 })).toMatchObject([{ ...running, outcome: "finished", outline }]);
      expect((await world.store.get(turn.turnId))?.outline).toEqual(outline);
      expect(await world.store.getLabel("turn_none" as TurnId)).toBeUndefined();
    });

    test("say how they ended, and whether that was delivered", async () => {
      const { turnId, writer } = await begin();
      await writer.append([{ type: "cancelled", by: "client" }], 1);
      expect(await world.store.get(turnId)).toMatchObject({ ended: true, outcome: "cancelled", delivered: false });
      await world.store.noteDelivered(turnId);
      expect(await world.store.get(turnId)).toMatchObject({ delivered: true, lastEventId: "a1" });
    });

    test("are deleted without a tombstone, and their writer gets an error", async () => {
      const { turnId, writer } = await begin({ idempotencyKey: "k" });
      const waiting = world.store.readAfter(turnId, startOfLog, { limit: 1, wait: never });
      await world.store.remove(turnId);
      await expect(waiting).rejects.toMatchObject({ code: "invalid_request" });
      expect(await world.store.get(turnId)).toBeUndefined();
      expect(await writer.append([text("a")], 1)).toBe("removed");
      const again = await world.store.create(newTurn({ idempotencyKey: "k" }), "o");
      expect(again.writer).toBeDefined();
      await world.store.remove(turnId);
    });
  });

  describe("writers", () => {
    test("are fenced off by a newer claim, whose epoch is higher", async () => {
      const { turnId, writer } = await begin();
      await writer.append([text("a")], 1);
      const newer = (await world.store.claim(turnId, "owner-2"))?.writer;
      expect(newer?.epoch).toBe(writer.epoch + 1);
      expect(await writer.append([text("zombie")], 2)).toBe("fenced");
      expect(await newer?.append([text("b"), finished], 3)).toBe("appended");
      expect((await collect(turnId)).map((event) => (event.type === "text" ? event.delta : event.type))).toEqual([
        "a",
        "b",
        "finished",
      ]);
      expect(await world.store.get(turnId)).toMatchObject({ owner: "owner-2" });
    });

    test("cannot claim what has ended or never was", async () => {
      const { turnId, writer } = await begin();
      await writer.append([finished], 1);
      expect(await world.store.claim(turnId, "owner-2")).toBeUndefined();
      expect(await world.store.claim("turn_none" as TurnId, "owner-2")).toBeUndefined();
    });

    test("append in the order in which they were asked to", async () => {
      const { turnId, writer } = await begin();
      await Promise.all(Array.from({ length: 20 }, (_, i) => writer.append([text(String(i))], 1)));
      const { events } = await world.store.readAfter(turnId, startOfLog, { limit: 100 });
      expect(events.map((event) => (event.type === "text" ? Number(event.delta) : -1))).toEqual(
        Array.from({ length: 20 }, (_, i) => i),
      );
    });
  });

  describe("cancel requests", () => {
    test("reach who waits for them; the first one stays; asking again is nothing", async () => {
      const { turnId } = await begin();
      const waiting = world.store.untilCancelRequested(turnId, never);
      await world.store.requestCancel(turnId, "client");
      await world.store.requestCancel(turnId, "superseded");
      expect(await waiting).toBe("client");
      expect(await world.store.untilCancelRequested(turnId, never)).toBe("client");
      expect(await world.store.get(turnId)).toMatchObject({ cancelRequested: "client" });
    });

    test("reach who begins to wait later, while others wait", async () => {
      const enough = new AbortController();
      const [{ turnId: asked }, { turnId: told }, { turnId: other }] = [await begin(), await begin(), await begin()];
      const waiting = world.store.untilCancelRequested(other, enough.signal);
      const seen = world.store.untilCancelRequested(told, enough.signal);
      await world.store.requestCancel(asked, "client");
      await world.store.requestCancel(told, "client");
      await seen; // by now all waiting turns were told of both
      expect(await world.store.untilCancelRequested(asked, enough.signal)).toBe("client");
      enough.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
    });

    test("after the end change nothing", async () => {
      const { turnId, writer } = await begin();
      await writer.append([finished], 1);
      await world.store.requestCancel(turnId, "client");
      expect(await world.store.get(turnId)).toMatchObject({ cancelRequested: undefined, outcome: "finished" });
    });
  });

  describe("retention", () => {
    const hourMs = 3_600_000;

    test("keeps an ended turn for two hours, then answers `expired`, also if the clock goes back later", async () => {
      const turn = newTurn({ idempotencyKey: "k" });
      const { writer } = await world.store.create(turn, "o");
      await writer?.append([text("secret"), finished], world.clock.now());
      expect(await world.store.get(turn.turnId)).toMatchObject({ expiresAtMs: world.clock.now() + 2 * hourMs });
      world.clock.move(2 * hourMs - 1);
      expect(await collect(turn.turnId)).toHaveLength(2);
      world.clock.move(1);
      const expired = { code: "expired" };
      await expect(world.store.get(turn.turnId)).rejects.toMatchObject(expired);
      world.clock.move(-hourMs);
      await expect(world.store.get(turn.turnId)).rejects.toMatchObject(expired);
      await expect(world.store.readAfter(turn.turnId, startOfLog, { limit: 1 })).rejects.toMatchObject(expired);
      await expect(world.store.readAfter(turn.turnId, startOfLog, { limit: 1, wait: never })).rejects.toMatchObject(
        expired,
      );
      await expect(world.store.noteReader(turn.turnId, world.clock.now())).rejects.toMatchObject(expired);
      await expect(world.store.create(newTurn({ idempotencyKey: "k" }), "o")).rejects.toMatchObject(expired);
      expect(await world.store.list({ limit: 10 })).toEqual([]);
    });

    test("never ends for a turn that runs", async () => {
      const { turnId, writer } = await begin();
      world.clock.move(100 * hourMs);
      await world.store.sweep();
      expect(await writer.append([finished], world.clock.now())).toBe("appended");
      expect(await collect(turnId)).toHaveLength(1);
    });

    test("keeps the turns of a stream as long as its last one", async () => {
      const [first, last, other] = [await begin(), await begin(), await begin()];
      for (const { writer } of [first, other]) await writer.append([finished], world.clock.now());
      world.clock.move(hourMs);
      await world.store.keepTogether([first.turnId, last.turnId]);
      await last.writer.append([finished], world.clock.now());
      world.clock.move(hourMs);
      await world.store.sweep();
      await expect(world.store.get(other.turnId)).rejects.toMatchObject({ code: "expired" });
      for (const { turnId } of [first, last]) expect(await collect(turnId)).toHaveLength(1);
      world.clock.move(hourMs);
      for (const { turnId } of [first, last])
        await expect(world.store.get(turnId)).rejects.toMatchObject({ code: "expired" });
      await world.store.keepTogether([first.turnId, last.turnId]);
      await expect(world.store.get(first.turnId)).rejects.toMatchObject({ code: "expired" });
    });

    test("leaves a tombstone for a day, then nothing", async () => {
      const { turnId, writer } = await begin();
      await writer.append([finished], world.clock.now());
      world.clock.move(3 * hourMs);
      await world.store.sweep();
      await expect(world.store.get(turnId)).rejects.toMatchObject({ code: "expired" });
      await expect(world.store.get(turnId, { caller: "caller-1" })).rejects.toMatchObject({ code: "expired" });
      expect(await world.store.get(turnId, { caller: "somebody else" })).toBeUndefined();
      world.clock.move(25 * hourMs);
      await world.store.sweep();
      expect(await world.store.get(turnId)).toBeUndefined();
    });
  });
}
