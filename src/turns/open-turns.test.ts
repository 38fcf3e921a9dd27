import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { startOfLog, type TurnId } from "../base/ids.ts";
import { idle, until } from "../base/wait.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import type { LogStore } from "../log/store.ts";
import { plainRequest } from "../log/turn.fake.ts";
import { eachDelivered } from "./read.ts";
import { asking, bound, FakeReader, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
/** Turns that are stopped after the test. */
const begin = stoppedTurns();

/** A store that keeps back each new turn until the test releases it. */
function withHeldCreate() {
  const memory = openMemoryLog({ clock: new FakeClock() });
  const creating = Promise.withResolvers<void>();
  const store: LogStore = {
    ...bound(memory),
    create: (...asked) => creating.promise.then(() => memory.create(...asked)),
  };
  return { store, creating };
}

describe("a turn", () => {
  test("is read live from its start to its one terminal event", async () => {
    const { turns, backend } = begin();
    const { turnId, joined, record } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await backend.prompted();
    backend.last.text("Hel", "lo");
    await reader.seen("text");
    expect(reader.types).toEqual(["started", "text"]);
    backend.last.finish("Hello");
    await reader.done;
    expect(reader.text).toBe("Hello");
    expect(reader.types).toEqual(["started", "text", "finished"]);
    expect({ joined, degraded: record.degraded }).toEqual({ joined: "no", degraded: false });
    expect(await turns.get(turnId)).toMatchObject({ outcome: "finished", delivered: true });
  });

  test("sends the prompt only once `started` is stored", async () => {
    const clock = new FakeClock();
    const store = openMemoryLog({ clock });
    const stored = Promise.withResolvers<void>();
    const held: LogStore = {
      ...bound(store),
      create: async (turn, owner) => {
        const created = await store.create(turn, owner);
        const { writer } = created;
        if (writer === undefined) return created;
        const append: typeof writer.append = (bodies, atMs) => stored.promise.then(() => writer.append(bodies, atMs));
        return { ...created, writer: { turnId: writer.turnId, epoch: writer.epoch, append } };
      },
    };
    const { turns, backend } = begin({ store: held });
    const starting = turns.start(asking(), never);
    await idle();
    expect(backend.last.promptSent).toBe(false);
    stored.resolve();
    await backend.prompted();
    expect(backend.last.promptSent).toBe(true);
    await starting;
  });

  test("has its conversation started while it is stored, and gets its prompt only after that", async () => {
    const { store, creating } = withHeldCreate();
    const { turns, backend } = begin({ store });
    const starting = turns.start(asking(), never);
    await idle();
    expect(backend.last.promptSent).toBe(false);
    creating.resolve();
    await starting;
    await backend.prompted();
    expect(backend.last.promptSent).toBe(true);
  });

  test("that cannot be stored has what was begun upstream closed, and its prompt is never sent", async () => {
    const { store, creating } = withHeldCreate();
    const { turns, backend } = begin({ store });
    const starting = turns.start(asking(), never);
    const refused = starting.catch((error: unknown) => error);
    await until(() => backend.answers.length === 1);
    creating.reject(new MillraceError("internal", "the log is damaged"));
    expect(await refused).toMatchObject({ code: "internal" });
    await until(() => backend.last.closed);
    expect(backend.answers.map(({ closed, promptSent }) => ({ closed, promptSent }))).toEqual([
      { closed: true, promptSent: false },
    ]);
  });

  test("gets its id to the client once its first event is durable, or after 250 ms once it is flushed alone", async () => {
    const noted: unknown[] = [];
    const append = Promise.withResolvers<void>();
    const memory = openMemoryLog({ clock: new FakeClock() });
    const store: LogStore = {
      ...bound(memory),
      create: async (...asked) => {
        const created = await memory.create(...asked);
        const { writer } = created;
        if (writer === undefined) return created;
        const held: typeof writer.append = (...events) => append.promise.then(() => writer.append(...events));
        return { ...created, writer: { turnId: writer.turnId, epoch: writer.epoch, append: held } };
      },
      noteReader: async (turnId, atMs, graceMs) => {
        noted.push(graceMs);
        await memory.noteReader(turnId, atMs, graceMs);
      },
    };
    const { turns, clock } = begin({ store });
    let told = false;
    const starting = turns.start(asking({ graceMs: 7_000 }), never).then(() => (told = true));
    await idle();
    expect({ told, noted }).toEqual({ told: false, noted: [] });
    await clock.advance(250);
    await starting;
    expect(noted).toEqual([7_000]); // a grace time is durable, and with it the turn
    append.resolve();
  });

  test("gives late readers and slow readers the same events, from any cursor", async () => {
    const { turns, backend } = begin();
    const { turnId } = await turns.start(asking(), never);
    await backend.prompted();
    const slow = eachDelivered(() => turns.open(turnId, startOfLog, never));
    const first = await slow.next();
    for (let i = 0; i < 50; i++) {
      backend.last.text(String(i));
    }
    backend.last.finish("");
    const late = new FakeReader(turns, turnId);
    await late.done;
    const rest = [first.value];
    for await (const event of slow) rest.push(event);
    expect(rest).toEqual(late.events);
    const middle = late.events[20];
    const resumed = new FakeReader(turns, turnId, middle?.eventId);
    await resumed.done;
    expect(resumed.events).toEqual(late.events.slice(21));
  });

  test("fails as `upstream_failed` when the backend ends without an end", async () => {
    const { turns, backend } = begin();
    const { turnId } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await backend.prompted();
    backend.last.text("half");
    backend.last.end();
    await reader.done;
    expect(reader.events.at(-1)).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(reader.text).toBe("half");
  });

  test("is not stored when no backend is there", async () => {
    const { turns, backend } = begin();
    backend.missing = new MillraceError("ide_not_running", "No IDE runs.");
    await expect(turns.start(asking(), never)).rejects.toMatchObject({ code: "ide_not_running" });
    expect(await turns.list({ limit: 5 })).toEqual([]);
  });

  test("knows when the upstream last answered, while it runs", async () => {
    const { turns, backend, clock } = begin();
    const { turnId } = await turns.start(asking(), never);
    expect(turns.lastAliveAtMs(turnId)).toBeUndefined();
    await backend.prompted();
    await clock.advance(500);
    backend.last.text("a");
    expect(turns.lastAliveAtMs(turnId)).toBe(clock.now());
  });

  test("that is unknown cannot be read or cancelled", async () => {
    const { turns } = begin();
    const unknown = "turn_none" as TurnId;
    await expect(eachDelivered(() => turns.open(unknown, startOfLog, never)).next()).rejects.toMatchObject({
      code: "invalid_request",
    });
    await expect(turns.cancel(unknown, "client")).rejects.toMatchObject({ code: "invalid_request" });
    await turns.remove(unknown);
  });
});

describe("a stop sequence", () => {
  test("ends the turn across deltas and stops the upstream", async () => {
    const { turns, backend } = begin();
    const { turnId } = await turns.start(asking({ request: { ...plainRequest, stop: ["END"] } }), never);
    const reader = new FakeReader(turns, turnId);
    await backend.prompted();
    backend.last.text("one E");
    await reader.seen("text");
    expect(reader.text).toBe("one ");
    backend.last.text("ND two");
    await reader.done;
    await until(() => backend.last.closed);
    expect(reader.events.at(-1)).toMatchObject({ type: "finished", reason: { unified: "stop" }, text: "one " });
    expect(backend.last).toMatchObject({ stoppedBy: "cancel", closed: true });
  });
});

describe("cancel", () => {
  test("ends the turn once, stops the upstream, and does nothing the second time", async () => {
    const { turns, backend } = begin();
    const { turnId } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await backend.prompted();
    backend.last.text("a");
    await reader.seen("text");
    await turns.cancel(turnId, "client");
    await turns.cancel(turnId, "superseded");
    await reader.done;
    expect(reader.events.at(-1)).toMatchObject({ type: "cancelled", by: "client" });
    expect(reader.types.filter((type) => type === "cancelled")).toHaveLength(1);
    expect(backend.last).toMatchObject({ stoppedBy: "cancel", closed: true });
  });

  test("after the end changes nothing", async () => {
    const { turns, backend } = begin();
    const { turnId } = await turns.start(asking(), never);
    await backend.prompted();
    backend.last.finish("");
    await turns.untilEnded(turnId, never);
    await turns.cancel(turnId, "client");
    expect(await turns.get(turnId)).toMatchObject({ outcome: "finished" });
    expect(backend.last.stoppedBy).toBeUndefined();
  });

  test("comes through the store too, from another process", async () => {
    const { turns, store, backend } = begin();
    const { turnId } = await turns.start(asking(), never);
    await backend.prompted();
    await store.requestCancel(turnId, "client");
    await turns.untilEnded(turnId, never);
    expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
    expect(backend.last.stoppedBy).toBe("cancel");
  });
});
