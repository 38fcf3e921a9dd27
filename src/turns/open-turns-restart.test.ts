import { describe, expect, test } from "vitest";
import { parkedReason } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { Emitter } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import { until } from "../base/wait.fake.ts";
import { memoryRows, openMemoryLog } from "../log/memory-log.fake.ts";
import { readAll } from "../log/read-turn.ts";
import type { Rows } from "../log/rows.ts";
import type { LogStore } from "../log/store.ts";
import { plainRequest } from "../log/turn.fake.ts";
import { FakeBackend, fakeCascade } from "./backend.fake.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import type { TurnsOptions } from "./options.ts";
import { assistant, fakeRequest, toolResult, user } from "./prompt/request.fake.ts";
import { asking, durable, FakeReader, plainLayout, record, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
/** A call of the client's tools, for whose result the agent waits. */
const call = { id: `call_${"0".repeat(24)}`, name: "bash", arguments: { command: "ls" } };
const waiting = {
  type: "started",
  modelUid: "m" as never,
  backend: "acp",
  cascadeId: fakeCascade,
  tools: "native",
} as const;
const calling = [
  { type: "tool_call", callId: call.id, name: "bash", argumentsDelta: JSON.stringify(call.arguments), done: true },
] as const;
const parked = { unified: "tool_calls", raw: parkedReason } as const;

/** The last message as the prompt, also for a conversation that goes on. */
const continuedLayout: TurnsOptions["layout"] = (request, model, { continues }) => ({
  ...plainLayout(request, model),
  continues: continues?.cascadeId,
});

/** Turns that are stopped after the test. */
const begin = stoppedTurns();

describe("a stop of the gateway", () => {
  test("ends turns that only memory holds, and their readers see it", async () => {
    const { turns, backend } = begin();
    const { turnId } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await reader.seen("started");
    await turns.stop();
    await reader.done;
    expect(reader.events.at(-1)).toMatchObject({ type: "cancelled", by: "shutdown" });
    expect(backend.last).toMatchObject({ stoppedBy: "cancel", closed: true });
  });

  test("hands over a turn whose slow request came before the stop and is stored after it", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { turns, backend } = begin({ store, clock });
    const found = Promise.withResolvers<void>();
    const choose = backend.choose.bind(backend);
    backend.choose = () => found.promise.then(choose);
    const starting = turns.start(asking(), never);
    await turns.stop();
    found.resolve();
    const { turnId } = await starting;
    await until(() => backend.last.closed);
    expect([backend.last.stoppedBy, (await store.get(turnId))?.ended]).toEqual(["detach", false]);
  });

  test("hands over turns that a durable log holds; the next process adopts them and adds what is missing", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const backend = new FakeBackend();
    const first = begin({ store, clock, backends: backend, owner: "owner-1" });
    const { turnId } = await first.turns.start(asking(), never);
    const reader = new FakeReader(first.turns, turnId);
    await backend.prompted();
    backend.last.text("Hello ");
    await reader.seen("text");
    await first.turns.stop();
    await expect(reader.done).rejects.toMatchObject({ code: "unavailable" });
    expect(backend.last).toMatchObject({ stoppedBy: "detach" });
    expect(await store.get(turnId)).toMatchObject({ ended: false });

    const adopted: (readonly string[])[] = [];
    const events = new Emitter<TurnLifecycle>();
    events.on("turn_adopted", (record) => adopted.push([record.turnId, record.lastEventId]));
    const second = begin({ store, clock, backends: backend, owner: "owner-2", events });
    await until(() => backend.answers.length === 2);
    expect(backend.last.resumedFrom).toEqual({ cascadeId: fakeCascade, text: "", thinking: "", answered: true });
    expect(adopted).toEqual([[turnId, reader.events.at(-1)?.eventId]]);
    const resumed = new FakeReader(second.turns, turnId, reader.events.at(-1)?.eventId);
    backend.last.text("Hel", "lo wor");
    await resumed.seen("text");
    backend.last.text("ld");
    backend.last.finish("Hello world");
    await resumed.done;
    expect(reader.text + resumed.text).toBe("Hello world");
    expect(resumed.types).not.toContain("rewritten");
    expect(resumed.types).not.toContain("started");
  });

  test("ends a prompted turn that no later process can continue, and its reader gets the end", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const backend = new FakeBackend();
    backend.endsWithGateway = true;
    const first = begin({ store, clock, backends: backend, owner: "owner-1" });
    const { turnId } = await first.turns.start(asking(), never);
    const reader = new FakeReader(first.turns, turnId);
    await backend.prompted();
    backend.last.text("Hel");
    await reader.seen("text");
    await first.turns.stop();
    await reader.done;
    expect(reader.types).toEqual(["started", "text", "cancelled"]);
    expect(reader.events.at(-1)).toMatchObject({ by: "shutdown" });
    expect(backend.last).toMatchObject({ stoppedBy: "cancel", closed: true });
    expect(await store.get(turnId)).toMatchObject({ ended: true, outcome: "cancelled" });
  });

  test("ends a turn that it took over and that no later process can continue", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const backend = new FakeBackend();
    const first = begin({ store, clock, backends: backend, owner: "owner-1" });
    const { turnId } = await first.turns.start(asking(), never);
    await backend.prompted();
    await first.turns.stop();
    backend.endsWithGateway = true;
    const second = begin({ store, clock, backends: backend, owner: "owner-2" });
    await until(() => backend.answers.length === 2);
    await backend.prompted();
    await second.turns.stop();
    expect(await store.get(turnId)).toMatchObject({ ended: true, outcome: "cancelled" });
    expect(backend.last).toMatchObject({ stoppedBy: "cancel", closed: true });
  });

  test("leaves a turn that never got its prompt to the next process, which sends it once somebody waits for it", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const crashed = await store.create({ ...record(clock), request: plainRequest }, "gone");
    const { backend, turns } = begin({ store, clock });
    await clock.advance(20_000);
    expect(backend.answers).toEqual([]);
    const again = await turns.start(asking(), never);
    expect(again).toMatchObject({ turnId: crashed.record.turnId, joined: "implicit" });
    await backend.prompted();
    expect(backend.last.resumedFrom).toBeUndefined();
    backend.last.finish("x");
    await turns.untilEnded(crashed.record.turnId, never);
    expect(await turns.get(crashed.record.turnId)).toMatchObject({ outcome: "finished" });
    expect(backend.answers).toHaveLength(1);
  });

  test("leaves a turn that never got its prompt: without anybody who comes back it ends, and nothing is sent", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { record: left } = await store.create({ ...record(clock), graceMs: 60_000 }, "gone");
    const { backend, turns } = begin({ store, clock });
    await clock.advance(59_000);
    expect(await turns.get(left.turnId)).toMatchObject({ ended: false });
    await clock.advance(2_000);
    expect(await turns.get(left.turnId)).toMatchObject({ outcome: "cancelled", lastEventId: "a1-2" });
    expect(backend.answers.filter(({ promptSent }) => promptSent)).toEqual([]);
  });

  test.each([{ accepted: true }, { graceMs: Infinity }] as const)(
    "leaves a turn that never got its prompt and whose client was told that it is accepted: it is sent (%o)",
    async (told) => {
      const clock = new FakeClock();
      const store = durable(openMemoryLog({ clock }));
      await store.create({ ...record(clock), ...told }, "gone");
      const { backend } = begin({ store, clock });
      await backend.prompted();
      expect(backend.answers).toHaveLength(1);
    },
  );

  test("leaves a turn that never got its prompt: a reader in another process is one who waits", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { record: left } = await store.create({ ...record(clock) }, "gone");
    const { backend } = begin({ store, clock, owner: "one" });
    await clock.advance(5_000);
    expect(backend.answers).toEqual([]);
    await store.noteReader(left.turnId, clock.now()); // as a reader of another process does every few seconds
    await clock.advance(2_000);
    await backend.prompted();
    expect(backend.answers).toHaveLength(1);
  });

  test("hands results that were stored and not passed on to the prompt that waits for them", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const [question, called, results] = [user("Look"), assistant("", [call]), toolResult(call.id, "a.txt")];
    const waits = { ...record(clock), request: fakeRequest({ messages: [question] }), turnId: "turn_first" as TurnId };
    const { writer } = await store.create(waits, "gone");
    await writer?.append([waiting, ...calling, { type: "finished", reason: parked, text: "" }], clock.now());
    const answered = fakeRequest({ messages: [question, called, results] });
    await store.create({ ...record(clock), accepted: true, request: answered }, "gone");
    const { backend } = begin({ store, clock, layout: continuedLayout, continuity: { idleMs: 60_000 } });
    await backend.prompted();
    expect(backend.last.prompt.continues).toBe(fakeCascade);
  });

  test("keeps the conversation of a turn that had not begun for the next one", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const request = fakeRequest({ messages: [user("Look")] });
    const { record: left } = await store.create({ ...record(clock), accepted: true, request }, "gone");
    const { backend, turns } = begin({ store, clock, layout: continuedLayout, continuity: { idleMs: 60_000 } });
    await backend.prompted();
    backend.last.emit(...calling, { type: "finished", reason: parked, text: "" });
    backend.last.end();
    await turns.untilEnded(left.turnId, never);
    const next = fakeRequest({ messages: [...request.messages, assistant("", [call]), toolResult(call.id, "a.txt")] });
    await turns.start(asking({ request: next, fingerprint: "body-2" }), never);
    expect(backend.last.prompt.continues).toBe(fakeCascade);
  });

  test("with a hundred running turns leaves none behind: each continues once, and adds what its log lacked", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
    const ids = Array.from({ length: 100 }, (_, n) => `turn_${n}` as TurnId);
    for (const [n, turnId] of ids.entries()) {
      const { writer } = await store.create({ ...record(clock), accepted: true, turnId, fingerprint: turnId }, "gone");
      if (n % 3 === 0) continue; // it died before its prompt was sent
      await writer?.append([started], clock.now());
      if (n % 3 === 2) await writer?.append([{ type: "text", delta: "half " }], clock.now());
    }
    const { backend, turns } = begin({ store, clock });
    await expect.poll(() => backend.answers.length).toBe(100);
    expect(backend.answers.filter(({ resumedFrom }) => resumedFrom === undefined)).toHaveLength(34);
    for (const [n, answer] of backend.answers.entries()) {
      answer.text("half ", `and whole ${n}`);
      answer.finish(`half and whole ${n}`);
    }
    await expect.poll(() => turns.list({ open: true, limit: 1 })).toEqual([]);
    await clock.advance(30_000);
    expect(backend.answers).toHaveLength(100);
    for (const turnId of ids) {
      const events = await readAll(store, turnId);
      const said = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
      expect(said).toMatch(/^half and whole \d+$/);
      expect(events.map(({ type }) => type).filter((type) => type !== "text")).toEqual(["started", "finished"]);
    }
  });

  test("continues where the prompt stands in a conversation that held others before", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { writer } = await store.create(record(clock), "gone");
    const body = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
    await writer?.append([{ ...body, fromStep: 7 }], clock.now());
    const { backend } = begin({ store, clock });
    await backend.prompted();
    expect(backend.last.resumedFrom).toMatchObject({ cascadeId: fakeCascade, fromStep: 7, answered: false });
  });

  test("that finds an IDE of another kind asks it nothing, and fails the turn in words", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { writer } = await store.create(record(clock), "gone");
    const body = { type: "started", modelUid: "m" as never, backend: "raw_chat", cascadeId: undefined } as const;
    await writer?.append([body, { type: "text", delta: "half" }], clock.now());
    const { backend, turns } = begin({ store, clock });
    const reader = new FakeReader(turns, "turn_left" as TurnId);
    await reader.done;
    expect(reader.text).toBe("half");
    expect(reader.events.at(-1)).toMatchObject({
      type: "failed",
      error: { code: "upstream_failed", message: expect.stringContaining("raw_chat") as string },
    });
    expect(backend.answers).toHaveLength(0);
  });

  test("with a log that was changed since leaves a turn that ends as failed, once", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ rows: tampering(await memoryRows()), clock }));
    const { writer } = await store.create(record(clock), "gone");
    await writer?.append(
      [{ type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade }],
      clock.now(),
    );
    const problems: string[] = [];
    const events = new Emitter<TurnLifecycle>();
    events.on("turn_problem", ({ event }) => problems.push(event));
    const { backend } = begin({ store, clock, events });
    await clock.advance(10_000);
    expect(await store.get("turn_left" as TurnId)).toMatchObject({ outcome: "failed" });
    expect(problems).toEqual(["turn_adopt_failed"]);
    expect(backend.answers).toHaveLength(0);
  });

  test("that finds a failing store changes nothing, and continues the turn once the store works", async () => {
    const clock = new FakeClock();
    const inner = durable(openMemoryLog({ clock }));
    const { writer } = await inner.create(record(clock), "gone");
    const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
    await writer?.append([started, { type: "text", delta: "half " }], clock.now());
    let failures = 2;
    const store: LogStore = {
      ...inner,
      async claim(turnId, owner) {
        const claimed = await inner.claim(turnId, owner);
        const readAll = async () => {
          if (failures-- > 0) throw new MillraceError("degraded", "The disk is away.");
          return claimed?.readAll() ?? [];
        };
        return claimed && { ...claimed, readAll };
      },
    };
    const { backend, turns } = begin({ store, clock });
    await clock.advance(500);
    expect(backend.answers).toHaveLength(0);
    expect(await turns.get("turn_left" as TurnId)).toMatchObject({ ended: false });
    await clock.advance(10_000);
    expect(backend.answers).toHaveLength(1);
    backend.last.text("half and whole");
    backend.last.finish("half and whole");
    await turns.untilEnded("turn_left" as TurnId, never);
    expect(await turns.get("turn_left" as TurnId)).toMatchObject({ outcome: "finished" });
  });

  test("makes an adopted turn wait for the IDE, and fail in its words when none comes", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { record: left } = await store.create(record(clock), "gone");
    const backend = new FakeBackend();
    backend.missing = new MillraceError("ide_not_running", "No IDE runs.");
    const { turns } = begin({ store, clock, backends: backend });
    await clock.advance(29_000);
    expect(await turns.get(left.turnId)).toMatchObject({ ended: false });
    const reader = new FakeReader(turns, left.turnId);
    await clock.advance(32_000);
    await reader.done;
    expect(reader.events.at(-1)).toMatchObject({ type: "failed", error: { code: "ide_not_running" } });
  });
});

/** Rows that change a byte of every entry that is read. */
function tampering(rows: Rows): Rows {
  return new Proxy(rows, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "entries") return typeof value === "function" ? value.bind(target) : value;
      return async (...values: Parameters<Rows["entries"]>) => {
        const found = await target.entries(...values);
        return found.map(({ seq, bytes }) => ({ seq, bytes: bytes.map((byte, at) => (at === 20 ? byte ^ 1 : byte)) }));
      };
    },
  });
}
