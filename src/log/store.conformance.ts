import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isMillraceError } from "../base/errors.ts";
import { type CascadeId, type EventId, type ModelUid, startOfLog, type TurnId } from "../base/ids.ts";
import { Secret } from "../base/secret.ts";
import type { TurnEvent, TurnEventBody } from "./event.ts";
import { eventIdOf } from "./event-id.ts";
import { type OutlinedEvent, outlineOf } from "./outline.ts";
import { readOutline, readTurn } from "./read-turn.ts";
import type { LogStore, LogWriter, NewTurn, StoreCapabilities } from "./store.ts";
import { describeStreams } from "./streams.conformance.ts";
import { newTurn, SettableClock } from "./turn.fake.ts";

/** A medium that a test opens, perhaps several times. `open` again is what another process, or the next start, would do. */
export interface StoreHarness {
  open(clock: SettableClock): Promise<LogStore>;
  dispose(): Promise<void>;
}

const text = (delta: string): TurnEventBody => ({ type: "text", delta });
const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" };
const never = new AbortController().signal;

type AnyStep =
  | { readonly do: "append"; readonly bodies: readonly TurnEventBody[] }
  | { readonly do: "read"; readonly at: number; readonly limit: number }
  | { readonly do: "claim" }
  | { readonly do: "zombie" };
type Step<Kind extends AnyStep["do"]> = AnyStep & { readonly do: Kind };

function bodiesOf(events: readonly TurnEvent[]): unknown[] {
  return events.map((event) =>
    Object.fromEntries(Object.entries(event).filter(([key]) => key !== "eventId" && key !== "atMs")),
  );
}

/** What every log store promises; the same cases in the same order for each. */
export function describeLogStore(
  name: string,
  capabilities: StoreCapabilities,
  makeHarness: () => Promise<StoreHarness>,
): void {
  describe(`log store: ${name}`, () => {
    let harness: StoreHarness;
    let clock: SettableClock;
    let store: LogStore;

    beforeEach(async () => {
      harness = await makeHarness();
      clock = new SettableClock();
      store = await harness.open(clock);
    });
    afterEach(async () => {
      await store.close();
      await harness.dispose();
    });

    async function begin(overrides: Partial<NewTurn> = {}): Promise<{ turnId: TurnId; writer: LogWriter }> {
      const { record, writer } = await store.create(newTurn(overrides), "owner-1");
      if (writer === undefined) throw new Error("the turn was there already");
      return { turnId: record.turnId, writer };
    }

    async function collect(turnId: TurnId, after: EventId = startOfLog): Promise<TurnEvent[]> {
      const events: TurnEvent[] = [];
      for await (const event of readTurn(store, turnId, after, never)) events.push(event);
      return events;
    }

    test("says what it can do", () => {
      expect(store.capabilities).toEqual(capabilities);
    });

    describe("events", () => {
      test("are read back as they were appended, with ids and times", async () => {
        const { turnId, writer } = await begin();
        const appended = await writer.append([text("a"), text("b")], 5);
        await writer.append([finished], 6);
        const events = await collect(turnId);
        expect(events.map(({ atMs }) => atMs)).toEqual([5, 5, 6]);
        expect(bodiesOf(events)).toEqual([text("a"), text("b"), JSON.parse(JSON.stringify(finished))]);
        expect(appended).toEqual({ outcome: "appended", events: events.slice(0, 2) });
      });

      test("have ids that start after 0 and sort as text the way they were appended", async () => {
        const { turnId, writer } = await begin();
        for (let i = 0; i < 3; i++)
          await writer.append(
            Array.from({ length: 40 }, () => text("x")),
            1,
          );
        const { events } = await store.readAfter(turnId, startOfLog, { limit: 1000 });
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
          events.push(...(await store.readAfter(turnId, cursor, { limit: 10 })).events);
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
          const { events, ended } = await store.readAfter(turnId, cursor, { limit: 1_000 });
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
        const read = async (limit: number) => (await store.readAfter(turnId, startOfLog, { limit })).events.length;
        expect([await read(1), await read(3), await read(4), await read(5), await read(7)]).toEqual([1, 3, 4, 4, 4]);
        expect((await store.readAfter(turnId, startOfLog, { limit: 7 })).ended).toBe(false);
      });

      test("beyond the limit come with the next read", async () => {
        const { turnId, writer } = await begin();
        await writer.append([text("a"), text("b"), text("c"), finished], 1);
        const first = await store.readAfter(turnId, startOfLog, { limit: 3 });
        expect(first.ended).toBe(false);
        expect(first.events).toHaveLength(3);
        const last = first.events.at(-1)?.eventId ?? startOfLog;
        const rest = await store.readAfter(turnId, last, { limit: 3 });
        expect(rest.ended).toBe(true);
        expect(rest.events).toHaveLength(1);
      });

      test("after a cursor past the end are refused, not clamped", async () => {
        const { turnId, writer } = await begin();
        await writer.append([text("a")], 1);
        await expect(store.readAfter(turnId, "a2" as EventId, { limit: 1 })).rejects.toMatchObject({
          code: "invalid_request",
        });
        await expect(store.readAfter(turnId, "z9" as EventId, { limit: 1 })).rejects.toMatchObject({
          code: "invalid_request",
        });
      });

      test("of an unknown turn are refused", async () => {
        await expect(store.readAfter("turn_none" as TurnId, startOfLog, { limit: 1 })).rejects.toMatchObject({
          code: "invalid_request",
        });
      });

      test("cannot follow a terminal one", async () => {
        const { turnId, writer } = await begin();
        await writer.append([finished], 1);
        expect(await writer.append([text("late")], 2)).toEqual({ outcome: "ended" });
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
        for await (const event of readOutline(store, turnId, after, never)) events.push(event);
        return events;
      }

      test("show each event's kind, time and length without any text, whether or not the client sealed the turn", async () => {
        for (const clientKey of [undefined, key]) {
          for (const end of ends) {
            const { record, writer } = await store.create(newTurn(), "owner-1", { clientKey });
            await writer?.append(happened, 5);
            const running = await store.readOutlineAfter(record.turnId, startOfLog, { limit: 99 });
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
          }
        }
      });

      test("come live, and of a sealed turn with no key", async () => {
        const { record, writer } = await store.create(newTurn(), "owner-1", { clientKey: key });
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
        const { record, writer } = await store.create(newTurn(), "owner-1", { clientKey: key });
        await writer?.append([text("a"), finished], clock.now());
        const read = (turnId: TurnId, after: EventId) => store.readOutlineAfter(turnId, after, { limit: 9 });
        await expect(read(record.turnId, eventIdOf(3))).rejects.toMatchObject({ code: "invalid_request" });
        await expect(read("turn_never" as TurnId, startOfLog)).rejects.toMatchObject({ code: "invalid_request" });
        clock.move(2 * 3_600_000);
        await expect(read(record.turnId, startOfLog)).rejects.toMatchObject({ code: "expired" });
        expect(await store.list({ limit: 9 })).toEqual([]);
      });

      test.skipIf(!capabilities.survivesRestart)(
        "of a sealed turn are kept when the log is opened again, and continue where another process continues",
        async () => {
          const { record, writer } = await store.create(newTurn(), "owner-1", { clientKey: key });
          await writer?.append(happened, 5);
          await store.close();
          store = await harness.open(clock);
          const claimed = await store.claim(record.turnId, "owner-2");
          await claimed?.writer.append([text("more"), finished], 9);
          await store.close();
          store = await harness.open(clock);
          const events = await outlined(record.turnId);
          expect(events.map(({ type }) => type)).toEqual([...happened, text(""), finished].map(({ type }) => type));
          expect(events.at(-2)).toMatchObject({ characters: 4, atMs: 9 });
        },
      );
    });

    describe("waiting", () => {
      test("ends at once when the log is past the cursor already", async () => {
        const { turnId, writer } = await begin();
        await writer.append([text("a")], 1);
        await expect(store.untilPast(turnId, startOfLog, never)).resolves.toBeUndefined();
      });

      test("ends with the next append, and with the end", async () => {
        const { turnId, writer } = await begin();
        const first = store.untilPast(turnId, startOfLog, never);
        await writer.append([text("a")], 1);
        await first;
        const end = store.untilPast(turnId, "a1" as EventId, never);
        await writer.append([finished], 1);
        await end;
        await expect(store.untilPast(turnId, "a2" as EventId, never)).resolves.toBeUndefined();
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
        const waiting = store.untilPast(turnId, startOfLog, controller.signal);
        controller.abort(new Error("gone"));
        await expect(waiting).rejects.toThrow("gone");
      });
    });

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
        await store.create(turn, "owner-1");
        expect(await store.get(turn.turnId)).toMatchObject({ ...turn, ended: false, owner: "owner-1" });
        expect(await store.get("turn_none" as TurnId)).toBeUndefined();
      });

      test("continue without a reader for the longest time that a client asked for", async () => {
        const { turnId } = await begin({ graceMs: 1_000 });
        const graceMs = async () => (await store.get(turnId))?.graceMs;
        for (const [asked, longest] of [
          [undefined, 1_000],
          [500, 1_000],
          [3_600_000, 3_600_000],
          [2_000, 3_600_000],
          [Infinity, Infinity],
          [undefined, Infinity],
          [1, Infinity],
        ] as const) {
          await store.noteReader(turnId, clock.now(), asked);
          expect(await graceMs()).toBe(longest);
        }
        expect(await store.listRunning()).toMatchObject([{ turnId, graceMs: Infinity }]);
        expect(await store.listRunning({ exceptOwner: "owner-1" })).toEqual([]);
        expect((await store.claim(turnId, "o2"))?.record.graceMs).toBe(Infinity);
        expect(await store.listRunning({ exceptOwner: "owner-1" })).toMatchObject([{ turnId }]);
      });

      test("that run are listed for adoption, and without those of one owner on request", async () => {
        const mine = await store.create(newTurn(), "me");
        const other = await store.create(newTurn(), "other");
        const ended = await store.create(newTurn(), "other");
        await ended.writer?.append([finished], 1);
        const ids = async (options?: { readonly exceptOwner: string }) =>
          (await store.listRunning(options)).map(({ turnId }) => turnId).sort();
        expect(await ids()).toEqual([mine.record.turnId, other.record.turnId].sort());
        expect(await ids({ exceptOwner: "me" })).toEqual([other.record.turnId]);
      });

      test("with one caller's key are one turn, in either order", async () => {
        const first = await store.create(newTurn({ idempotencyKey: "k", fingerprint: "f" }), "o");
        const second = await store.create(newTurn({ idempotencyKey: "k", fingerprint: "g" }), "o");
        expect(second.writer).toBeUndefined();
        expect(second.record).toMatchObject({ turnId: first.record.turnId, fingerprint: "f" });
        const other = await store.create(newTurn({ idempotencyKey: "k", caller: "caller-2" }), "o");
        expect(other.writer).toBeDefined();
      });

      test("are listed newest first, by caller, fingerprint, session, key and whether they run", async () => {
        const a = await begin({ session: "s1", fingerprint: "f" });
        const b = await begin({ session: "s2", fingerprint: "f", idempotencyKey: "k" });
        const c = await begin({ caller: "caller-2", session: "s1" });
        await a.writer.append([finished], 1);
        const ids = async (filter: Partial<Parameters<LogStore["list"]>[0]>) =>
          (await store.list({ limit: 10, ...filter })).map(({ turnId }) => turnId);
        expect(await ids({})).toEqual([c.turnId, b.turnId, a.turnId]);
        expect(await ids({ limit: 1 })).toEqual([c.turnId]);
        expect(await ids({ caller: "caller-1", fingerprint: "f" })).toEqual([b.turnId, a.turnId]);
        expect(await ids({ session: "s1" })).toEqual([c.turnId, a.turnId]);
        expect(await ids({ idempotencyKey: "k" })).toEqual([b.turnId]);
        expect(await ids({ open: true })).toEqual([c.turnId, b.turnId]);
        expect(await ids({ open: false })).toEqual([a.turnId]);
      });

      test("say how they ended, and whether that was delivered", async () => {
        const { turnId, writer } = await begin();
        await writer.append([{ type: "cancelled", by: "client" }], 1);
        expect(await store.get(turnId)).toMatchObject({ ended: true, outcome: "cancelled", delivered: false });
        await store.noteDelivered(turnId);
        expect(await store.get(turnId)).toMatchObject({ delivered: true, lastEventId: "a1" });
      });

      test("are deleted without a tombstone, and their writer gets an error", async () => {
        const { turnId, writer } = await begin({ idempotencyKey: "k" });
        const waiting = store.untilPast(turnId, startOfLog, never);
        await store.remove(turnId);
        await expect(waiting).rejects.toMatchObject({ code: "invalid_request" });
        expect(await store.get(turnId)).toBeUndefined();
        expect(await writer.append([text("a")], 1)).toEqual({ outcome: "removed" });
        const again = await store.create(newTurn({ idempotencyKey: "k" }), "o");
        expect(again.writer).toBeDefined();
        await store.remove(turnId);
      });
    });

    describe("writers", () => {
      test("are fenced off by a newer claim, whose epoch is higher", async () => {
        const { turnId, writer } = await begin();
        await writer.append([text("a")], 1);
        const newer = (await store.claim(turnId, "owner-2"))?.writer;
        expect(newer?.epoch).toBe(writer.epoch + 1);
        expect(await writer.append([text("zombie")], 2)).toEqual({ outcome: "fenced" });
        expect(await newer?.append([text("b"), finished], 3)).toMatchObject({ outcome: "appended" });
        expect((await collect(turnId)).map((event) => (event.type === "text" ? event.delta : event.type))).toEqual([
          "a",
          "b",
          "finished",
        ]);
        expect(await store.get(turnId)).toMatchObject({ owner: "owner-2" });
      });

      test("cannot claim what has ended or never was", async () => {
        const { turnId, writer } = await begin();
        await writer.append([finished], 1);
        expect(await store.claim(turnId, "owner-2")).toBeUndefined();
        expect(await store.claim("turn_none" as TurnId, "owner-2")).toBeUndefined();
      });

      test("append in the order in which they were asked to", async () => {
        const { turnId, writer } = await begin();
        await Promise.all(Array.from({ length: 20 }, (_, i) => writer.append([text(String(i))], 1)));
        const { events } = await store.readAfter(turnId, startOfLog, { limit: 100 });
        expect(events.map((event) => (event.type === "text" ? Number(event.delta) : -1))).toEqual(
          Array.from({ length: 20 }, (_, i) => i),
        );
      });
    });

    describe("cancel requests", () => {
      test("reach who waits for them; the first one stays; asking again is nothing", async () => {
        const { turnId } = await begin();
        const waiting = store.untilCancelRequested(turnId, never);
        await store.requestCancel(turnId, "client");
        await store.requestCancel(turnId, "superseded");
        expect(await waiting).toBe("client");
        expect(await store.untilCancelRequested(turnId, never)).toBe("client");
        expect(await store.get(turnId)).toMatchObject({ cancelRequested: "client" });
      });

      test("after the end change nothing", async () => {
        const { turnId, writer } = await begin();
        await writer.append([finished], 1);
        await store.requestCancel(turnId, "client");
        expect(await store.get(turnId)).toMatchObject({ cancelRequested: undefined, outcome: "finished" });
      });
    });

    describe("retention", () => {
      const hourMs = 3_600_000;

      test("keeps an ended turn for two hours, then answers `expired`, also if the clock goes back later", async () => {
        const turn = newTurn({ idempotencyKey: "k" });
        const { writer } = await store.create(turn, "o");
        await writer?.append([text("secret"), finished], clock.now());
        expect(await store.get(turn.turnId)).toMatchObject({ expiresAtMs: clock.now() + 2 * hourMs });
        clock.move(2 * hourMs - 1);
        expect(await collect(turn.turnId)).toHaveLength(2);
        clock.move(1);
        const expired = { code: "expired" };
        await expect(store.get(turn.turnId)).rejects.toMatchObject(expired);
        clock.move(-hourMs);
        await expect(store.get(turn.turnId)).rejects.toMatchObject(expired);
        await expect(store.readAfter(turn.turnId, startOfLog, { limit: 1 })).rejects.toMatchObject(expired);
        await expect(store.untilPast(turn.turnId, startOfLog, never)).rejects.toMatchObject(expired);
        await expect(store.noteReader(turn.turnId, clock.now())).rejects.toMatchObject(expired);
        await expect(store.create(newTurn({ idempotencyKey: "k" }), "o")).rejects.toMatchObject(expired);
        expect(await store.list({ limit: 10 })).toEqual([]);
      });

      test("never ends for a turn that runs", async () => {
        const { turnId, writer } = await begin();
        clock.move(100 * hourMs);
        await store.sweep(clock.now());
        expect(await writer.append([finished], clock.now())).toMatchObject({ outcome: "appended" });
        expect(await collect(turnId)).toHaveLength(1);
      });

      test("keeps the turns of a stream as long as its last one", async () => {
        const [first, last, other] = [await begin(), await begin(), await begin()];
        for (const { writer } of [first, other]) await writer.append([finished], clock.now());
        clock.move(hourMs);
        await store.keepTogether([first.turnId, last.turnId]);
        await last.writer.append([finished], clock.now());
        clock.move(hourMs);
        await store.sweep(clock.now());
        await expect(store.get(other.turnId)).rejects.toMatchObject({ code: "expired" });
        for (const { turnId } of [first, last]) expect(await collect(turnId)).toHaveLength(1);
        clock.move(hourMs);
        for (const { turnId } of [first, last])
          await expect(store.get(turnId)).rejects.toMatchObject({ code: "expired" });
        await store.keepTogether([first.turnId, last.turnId]);
        await expect(store.get(first.turnId)).rejects.toMatchObject({ code: "expired" });
      });

      test("leaves a tombstone for a day, then nothing", async () => {
        const { turnId, writer } = await begin();
        await writer.append([finished], clock.now());
        clock.move(3 * hourMs);
        await store.sweep(clock.now());
        await expect(store.get(turnId)).rejects.toMatchObject({ code: "expired" });
        await expect(store.get(turnId, { caller: "caller-1" })).rejects.toMatchObject({ code: "expired" });
        expect(await store.get(turnId, { caller: "somebody else" })).toBeUndefined();
        clock.move(25 * hourMs);
        await store.sweep(clock.now());
        expect(await store.get(turnId)).toBeUndefined();
      });
    });

    describeStreams(
      () => store,
      () => clock,
    );

    test("remembers until when owners live", async () => {
      await store.renewOwner("a", 5);
      await store.renewOwner("b", 7);
      await store.renewOwner("a", 9);
      expect(await store.owners()).toEqual(
        new Map([
          ["a", 9],
          ["b", 7],
        ]),
      );
    });

    test.skipIf(!capabilities.survivesRestart)("keeps everything when it is opened again", async () => {
      const { turnId, writer } = await begin({ idempotencyKey: "k" });
      await writer.append([text("a"), text("b")], 1);
      await store.requestCancel(turnId, "client");
      await store.noteReader(turnId, clock.now(), Infinity);
      await store.close();
      store = await harness.open(clock);
      const kept = { lastEventId: "a2", cancelRequested: "client", graceMs: Infinity };
      expect(await store.get(turnId)).toMatchObject(kept);
      const again = (await store.claim(turnId, "owner-2"))?.writer;
      expect(await writer.append([text("zombie")], 2).catch(() => "closed")).not.toMatchObject({ outcome: "appended" });
      await again?.append([finished], 3);
      expect(await collect(turnId)).toHaveLength(3);
    });

    describe.skipIf(!capabilities.sharedBetweenProcesses)("shared by two", () => {
      let other: LogStore;
      beforeEach(async () => {
        other = await harness.open(clock);
      });
      afterEach(async () => {
        await other.close();
      });

      test("a reader at one sees what the other's writer appends, live", async () => {
        const { turnId, writer } = await begin();
        const seen: string[] = [];
        const reading = (async () => {
          for await (const event of readTurn(other, turnId, startOfLog, never)) {
            seen.push(event.type);
            if (event.type === "text") await writer.append([finished], 2);
          }
        })();
        await writer.append([text("a")], 1);
        await reading;
        expect(seen).toEqual(["text", "finished"]);
      });

      test("an attach at one ends with a newer attach at the other, and with nothing else that is written", async () => {
        const name = { caller: "caller-1", name: "shared stream", clientKey: undefined };
        const stream = await store.attachStream(name, "create");
        let told = false;
        const superseded = store.untilSuperseded(stream, never).then(() => (told = true));
        const { turnId } = await begin();
        const moved = store.untilCancelRequested(turnId, never);
        await other.requestCancel(turnId, "client");
        await moved; // by now what the other wrote was seen here
        expect(told).toBe(false);
        await other.attachStream(name, "resume");
        await superseded;
      });

      test("an attach that the other works on late takes nothing from the one that followed it", async () => {
        const name = { caller: "caller-1", name: "late stream", clientKey: undefined };
        const stream = await store.attachStream(name, "create", { number: { life: "a", number: 2 } });
        const late = other.attachStream(name, "create", { number: { life: "a", number: 1 } });
        await expect(late).rejects.toMatchObject({ code: "cancelled", details: { reason: "superseded" } });
        const sent = await store.admit(stream, { seqno: 0, payload: new Uint8Array([1]) });
        expect(sent.outcome).toBe("admitted");
      });

      test("a cancel at one reaches the writer at the other", async () => {
        const { turnId } = await begin();
        const waiting = store.untilCancelRequested(turnId, never);
        await other.requestCancel(turnId, "client");
        expect(await waiting).toBe("client");
      });

      test("one key at both is one turn, and a claim at one fences the other's writer", async () => {
        const { turnId, writer } = await begin({ idempotencyKey: "k" });
        const twin = await other.create(newTurn({ idempotencyKey: "k" }), "owner-2");
        expect(twin.record.turnId).toBe(turnId);
        const claimed = await other.claim(turnId, "owner-2");
        expect(claimed).toBeDefined();
        expect(await writer.append([text("zombie")], 1)).toEqual({ outcome: "fenced" });
      });
    });

    test("random operations give what the model gives, for every cursor and every reader", async () => {
      const body = fc.oneof(
        fc.string({ unit: "binary", maxLength: 20 }).map(text),
        fc.string({ maxLength: 5 }).map((delta): TurnEventBody => ({ type: "thinking", delta })),
      );
      const operation = fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({ do: fc.constant("append" as const), bodies: fc.array(body, { maxLength: 4 }) }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            do: fc.constant("read" as const),
            at: fc.nat(),
            limit: fc.integer({ min: 1, max: 5 }),
          }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant("claim" as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant("zombie" as const) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
          const { turnId, writer: first } = await begin();
          const writers = [first];
          const model: TurnEventBody[] = [];
          const run = {
            append: async (step: Step<"append">) => {
              await writers.at(-1)?.append(step.bodies, 1);
              model.push(...step.bodies);
            },
            claim: async () => {
              const claimed = await store.claim(turnId, "owner");
              if (claimed !== undefined) writers.push(claimed.writer);
            },
            zombie: async () => {
              const zombies = writers.slice(0, -1);
              const outcomes = await Promise.all(zombies.map((zombie) => zombie.append([text("z")], 1)));
              expect(outcomes).toEqual(zombies.map(() => ({ outcome: "fenced" })));
            },
            read: async (step: Step<"read">) => {
              const whole = await store.readAfter(turnId, startOfLog, { limit: 1000 });
              const k = step.at % (model.length + 1);
              const cursor = whole.events[k - 1]?.eventId ?? startOfLog;
              const suffix = await store.readAfter(turnId, cursor, { limit: step.limit });
              expect(suffix.events).toEqual(whole.events.slice(k, k + step.limit)); // P5, P6
              expect(bodiesOf(whole.events)).toEqual(model);
            },
          };
          for (const step of operations) await run[step.do](step as never); // each entry takes its own kind of step
          await writers.at(-1)?.append([finished], 2);
          expect(await collect(turnId)).toHaveLength(model.length + 1);
        }),
        { numRuns: 20 },
      );
    });

    test("nothing but our own errors crosses its border", async () => {
      const error: unknown = await store
        .requestCancel("turn_none" as TurnId, "client")
        .catch((caught: unknown) => caught);
      expect(isMillraceError(error)).toBe(true);
    });
  });
}
