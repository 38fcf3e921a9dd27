import { describe, expect, test } from "vitest";
import { type CascadeId, type EventId, type ModelUid, startOfLog, type TurnId } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import { eventIdOf, type OutlinedEvent, outlineOf, type TurnEvent, type TurnEventBody } from "./event.ts";
import { eachOf, readOutline } from "./read-turn.ts";
import type { RowsAbilities } from "./rows.ts";
import { bodiesOf, finished, never, type StoreWorld, text } from "./store-world.fake.ts";
import { newTurn } from "./turn.fake.ts";

/** The cases for events that every log store passes: append, read, outline, wait. Called inside its suite. */
export function describeEvents(world: StoreWorld, capabilities: RowsAbilities): void {
  const { begin, collect } = world;

  describe("events", () => {
    test("are read back as they were appended, with ids and times", async () => {
      const { turnId, writer } = await begin();
      const appended = await writer.append([text("a"), text("b")], 5);
      await writer.append([finished], 6);
      const events = await collect(turnId);
      expect(events.map(({ atMs }) => atMs)).toEqual([5, 5, 6]);
      expect(bodiesOf(events)).toEqual([text("a"), text("b"), JSON.parse(JSON.stringify(finished))]);
      expect(appended).toBe("appended");
    });

    test("have ids that start after 0 and sort as text the way they were appended", async () => {
      const { turnId, writer } = await begin();
      for (let i = 0; i < 3; i++)
        await writer.append(
          Array.from({ length: 40 }, () => text("x")),
          1,
        );
      const { events } = await world.store.readAfter(turnId, startOfLog, { limit: 1000 });
      const ids = events.map(({ eventId }) => eventId);
      expect([...ids].sort()).toEqual(ids);
      expect(new Set(ids).size).toBe(120);
      expect(ids.every((id) => id > startOfLog)).toBe(true);
    });

    test("of a late reader are all there, and end at the terminal one", async () => {
      const { turnId, writer } = await begin();
      await writer.append([text("a"), text("b"), finished], 1);
      expect(await collect(turnId)).toHaveLength(3);
    });

    test("after the last one end at once", async () => {
      const { turnId, writer } = await begin();
      await writer.append([finished], 1);
      const all = await collect(turnId);
      expect(await collect(turnId, all.at(-1)?.eventId)).toEqual([]);
    });

    test("keep any text: quotes, controls, lone surrogates, a megabyte", async () => {
      const { turnId, writer } = await begin();
      const deltas = ['"\\\n\r\0\u2028', "\ud83d", "\ude00", "é".repeat(1 << 20)];
      await writer.append(deltas.map(text), 1);
      const events: TurnEvent[] = [];
      for (let cursor = startOfLog; events.length < deltas.length; cursor = events.at(-1)?.eventId ?? cursor) {
        events.push(...(await world.store.readAfter(turnId, cursor, { limit: 10 })).events);
      }
      expect(events.map((event) => (event.type === "text" ? event.delta : ""))).toEqual(deltas);
    });

    test("come in pages of at most 256 KiB as they are stored, whole and in order, however many are asked for", async () => {
      const { turnId, writer } = await begin();
      const some = (count: number, size: number) => Array.from({ length: count }, () => size);
      const sizes = [...some(20, 50_000), 10, 700_000, 10, ...some(9, 40_000)];
      const bodies = [...sizes.map((size, i) => text(String(i % 10).repeat(size))), finished];
      for (const body of bodies) await writer.append([body], 1);
      const pages: (readonly TurnEvent[])[] = [];
      let cursor = startOfLog;
      for (let done = false; !done; ) {
        const { events, ended } = await world.store.readAfter(turnId, cursor, { limit: 1_000 });
        pages.push(events);
        cursor = events.at(-1)?.eventId ?? cursor;
        done = ended || events.length === 0;
      }
      expect(pages.map((page) => page.length)).toEqual([5, 5, 5, 6, 1, 7, 4]);
      expect(bodiesOf(pages.flat())).toEqual(JSON.parse(JSON.stringify(bodies)));
      expect(await collect(turnId)).toEqual(pages.flat());
    });

    test("that are large are as many as were asked for, up to what a page holds", async () => {
      const { turnId, writer } = await begin();
      for (let i = 0; i < 6; i++) await writer.append([text(String(i).repeat(60_000))], 1);
      await writer.append([finished], 1);
      const read = async (limit: number) => (await world.store.readAfter(turnId, startOfLog, { limit })).events.length;
      expect([await read(1), await read(3), await read(4), await read(5), await read(7)]).toEqual([1, 3, 4, 4, 4]);
      expect((await world.store.readAfter(turnId, startOfLog, { limit: 7 })).ended).toBe(false);
    });

    test("beyond the limit come with the next read", async () => {
      const { turnId, writer } = await begin();
      await writer.append([text("a"), text("b"), text("c"), finished], 1);
      const first = await world.store.readAfter(turnId, startOfLog, { limit: 3 });
      expect(first.ended).toBe(false);
      expect(first.events).toHaveLength(3);
      const last = first.events.at(-1)?.eventId ?? startOfLog;
      const rest = await world.store.readAfter(turnId, last, { limit: 3 });
      expect(rest.ended).toBe(true);
      expect(rest.events).toHaveLength(1);
    });

    test("after a cursor past the end are refused, not clamped", async () => {
      const { turnId, writer } = await begin();
      await writer.append([text("a")], 1);
      await expect(world.store.readAfter(turnId, "a2" as EventId, { limit: 1 })).rejects.toMatchObject({
        code: "invalid_request",
      });
      await expect(world.store.readAfter(turnId, "z9" as EventId, { limit: 1 })).rejects.toMatchObject({
        code: "invalid_request",
      });
    });

    test.skipIf(!capabilities.survivesRestart)(
      "after a cursor past the end are refused by the next gateway too",
      async () => {
        const { turnId, writer } = await begin();
        await writer.append([text("a"), finished], 1);
        await world.reopen();
        expect(await collect(turnId, eventIdOf(2))).toEqual([]);
        await expect(world.store.readAfter(turnId, eventIdOf(3), { limit: 1 })).rejects.toMatchObject({
          code: "invalid_request",
        });
      },
    );

    test("of an unknown turn are refused", async () => {
      await expect(world.store.readAfter("turn_none" as TurnId, startOfLog, { limit: 1 })).rejects.toMatchObject({
        code: "invalid_request",
      });
    });

    test("cannot follow a terminal one", async () => {
      const { turnId, writer } = await begin();
      await writer.append([finished], 1);
      expect(await writer.append([text("late")], 2)).toBe("ended");
      expect(await collect(turnId)).toHaveLength(1);
    });
  });

  describe("outlines", () => {
    const key = new Secret(Buffer.alloc(32, 5).toString("base64url"));
    const happened: readonly TurnEventBody[] = [
      {
        type: "started",
        modelUid: "m" as ModelUid,
        backend: "cascade",
        cascadeId: "c" as CascadeId,
        ide: "windsurf",
      }, // made-up ids
      { type: "thinking", delta: "a secret" },
      text("a secret answer"),
      { type: "tool_call", callId: "secret", name: "secret", argumentsDelta: '{"a":"secret"', done: false },
      { type: "tool_call", callId: "secret", name: "secret", argumentsDelta: "}", done: true },
      { type: "rewritten", text: "secret" },
      {
        type: "usage",
        promptTokens: 9,
        completionTokens: 0,
        thinkingTokens: 1,
        creditsHundredths: 25,
        estimated: false,
      },
    ];
    const ends: readonly TurnEventBody[] = [
      { type: "finished", reason: { unified: "stop", raw: "secret" }, text: "secret" },
      { type: "failed", error: { code: "upstream_failed", message: "secret", hint: "secret" } },
      { type: "cancelled", by: "client" },
    ];

    async function outlined(turnId: TurnId, after: EventId = startOfLog): Promise<OutlinedEvent[]> {
      const events: OutlinedEvent[] = [];
      for await (const event of eachOf(readOutline(world.store, { turnId, after }, never))) events.push(event);
      return events;
    }

    test("show each event's kind, time and length without any text, whether or not the client sealed the turn", async () => {
      for (const clientKey of [undefined, key]) {
        for (const end of ends) {
          const { record, writer } = await world.store.create(newTurn(), "owner-1", { clientKey });
          await writer?.append(happened, 5);
          const running = await world.store.readOutlineAfter(record.turnId, startOfLog, { limit: 99 });
          expect(running).toMatchObject({ ended: false, events: { length: happened.length } });
          await writer?.append([end], 8);
          const events = await outlined(record.turnId);
          expect(events).toEqual(
            [...happened, end].map((body, index) => ({
              ...outlineOf(body),
              eventId: eventIdOf(index + 1),
              atMs: index < happened.length ? 5 : 8,
            })),
          );
          expect(JSON.stringify(events)).not.toContain("secret");
          expect(await outlined(record.turnId, eventIdOf(6))).toEqual(events.slice(6));
          await world.store.noteDelivered(record.turnId);
          const label = await world.store.getLabel(record.turnId);
          const after = clientKey === undefined ? await outlined(record.turnId) : label?.outline; // a sealed turn's is kept in short
          expect(after?.at(-1)).toEqual(events.at(-1));
          const { events: whole } = await world.store.readAfter(record.turnId, startOfLog, { limit: 99, clientKey });
          expect(whole).toMatchObject([...happened, end]);
        }
      }
    });

    test("come live, and of a sealed turn with no key", async () => {
      const { record, writer } = await world.store.create(newTurn(), "owner-1", { clientKey: key });
      const reading = outlined(record.turnId);
      await writer?.append([text("a")], 1);
      await writer?.append([text("bcd"), finished], 2);
      expect((await reading).map((event) => ("characters" in event ? event.characters : event.type))).toEqual([
        1,
        3,
        "finished",
      ]);
    });

    test("are refused past the end, of an unknown turn, and once the turn has expired", async () => {
      const { record, writer } = await world.store.create(newTurn(), "owner-1", { clientKey: key });
      await writer?.append([text("a"), finished], world.clock.now());
      const read = (turnId: TurnId, after: EventId) => world.store.readOutlineAfter(turnId, after, { limit: 9 });
      await expect(read(record.turnId, eventIdOf(3))).rejects.toMatchObject({ code: "invalid_request" });
      await expect(read("turn_never" as TurnId, startOfLog)).rejects.toMatchObject({ code: "invalid_request" });
      world.clock.move(2 * 3_600_000);
      await expect(read(record.turnId, startOfLog)).rejects.toMatchObject({ code: "expired" });
      expect(await world.store.list({ limit: 9 })).toEqual([]);
    });

    test.skipIf(!capabilities.survivesRestart)(
      "are kept when the log is opened again, and those of a sealed turn are unknown then",
      async () => {
        const own = await world.store.create(newTurn(), "owner-1");
        const sealed = await world.store.create(newTurn(), "owner-1", { clientKey: key });
        for (const { writer } of [own, sealed]) await writer?.append([text("abc"), finished], 5);
        await world.reopen();
        expect(await outlined(own.record.turnId)).toMatchObject([{ characters: 3, atMs: 5 }, { type: "finished" }]);
        await expect(outlined(sealed.record.turnId)).rejects.toMatchObject({ code: "invalid_request" });
      },
    );
  });

  describe("waiting", () => {
    const news = (turnId: TurnId, after: EventId, wait = never) =>
      world.store.readAfter(turnId, after, { limit: 9, wait });

    test("ends at once when the log is past the cursor already", async () => {
      const { turnId, writer } = await begin();
      await writer.append([text("a")], 1);
      expect((await news(turnId, startOfLog)).events).toHaveLength(1);
    });

    test("ends with the next append, and with the end", async () => {
      const { turnId, writer } = await begin();
      const first = news(turnId, startOfLog);
      await writer.append([text("a")], 1);
      expect(await first).toMatchObject({ events: [{ eventId: "a1" }], ended: false });
      const end = news(turnId, "a1" as EventId);
      await writer.append([finished], 1);
      expect(await end).toMatchObject({ events: [{ eventId: "a2" }], ended: true });
      expect(await news(turnId, "a2" as EventId)).toEqual({ events: [], ended: true });
    });

    test("loses no append that comes between the read and the wait", async () => {
      const { turnId, writer } = await begin();
      const reading = collect(turnId);
      for (let i = 0; i < 50; i++) {
        await writer.append([text(String(i))], 1);
        for (let turns = 0; turns < i % 7; turns++) await Promise.resolve();
      }
      await writer.append([finished], 1);
      expect(await reading).toHaveLength(51);
    });

    test("ends with the signal's reason", async () => {
      const { turnId } = await begin();
      const controller = new AbortController();
      const waiting = news(turnId, startOfLog, controller.signal);
      controller.abort(new Error("gone"));
      await expect(waiting).rejects.toThrow("gone");
    });
  });
}
