import { afterEach, describe, expect, test } from "vitest";
import type { Backend } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { Emitter } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import { startOfLog, type TurnId } from "../base/ids.ts";
import { idle, until } from "../base/wait.fake.ts";
import { clearCodec } from "../log/codec.ts";
import { FailingMedium } from "../log/failing-medium.fake.ts";
import type { LogMedium } from "../log/medium.ts";
import { MemoryMedium } from "../log/memory/memory-medium.ts";
import { openMemoryLog } from "../log/memory/open-memory-log.ts";
import { openLog } from "../log/open-log.ts";
import { readAll } from "../log/read-all.ts";
import { defaultRetention } from "../log/retention.ts";
import { encodeKey } from "../log/sealing/keys.ts";
import { sealedCodec } from "../log/sealing/sealed-codec.ts";
import type { LogStore } from "../log/store.ts";
import { plainRequest } from "../log/turn.fake.ts";
import { FakeBackend, fakeCascade } from "./backend.fake.ts";
import type { TurnLifecycle } from "./lifecycle.ts";
import type { TurnsOptions } from "./open-turns.ts";
import { asking, bound, durable, FakeReader, type FakeTurns, fakeTurns } from "./turns.fake.ts";
import type { Turns } from "./turns.ts";

const never = new AbortController().signal;
const open: Turns[] = [];

function begin(overrides: Partial<TurnsOptions> = {}): FakeTurns {
  const made = fakeTurns(overrides);
  open.push(made.turns);
  return made;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((turns) => turns.stop()));
});

/** A store that keeps back each new turn until it is told. */
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
    const { turnId, joined, degraded } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await backend.prompted();
    backend.last.text("Hel", "lo");
    await reader.seen("text");
    expect(reader.types).toEqual(["started", "text"]);
    backend.last.finish("Hello");
    await reader.done;
    expect(reader.text).toBe("Hello");
    expect(reader.types).toEqual(["started", "text", "finished"]);
    expect({ joined, degraded }).toEqual({ joined: "no", degraded: false });
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
    const slow = turns.read(turnId, startOfLog, never);
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
    await expect(turns.read(unknown, startOfLog, never).next()).rejects.toMatchObject({ code: "invalid_request" });
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

describe("a disconnect", () => {
  test("is not a cancel: the turn continues for its grace time, then is cancelled upstream", async () => {
    const { turns, backend, clock } = begin();
    const { turnId } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await reader.seen("started");
    await reader.leave();
    await clock.advance(119_999);
    expect(await turns.get(turnId)).toMatchObject({ ended: false });
    await clock.advance(1);
    expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
    expect(backend.last.stoppedBy).toBe("cancel");
  });

  test("followed by a return within the grace time costs nothing", async () => {
    const { turns, backend, clock } = begin();
    const { turnId } = await turns.start(asking(), never);
    const first = new FakeReader(turns, turnId);
    await backend.prompted();
    backend.last.text("a");
    await first.seen("text");
    await first.leave();
    await clock.advance(100_000);
    backend.last.text("b");
    const second = new FakeReader(turns, turnId, first.events.at(-1)?.eventId);
    await clock.advance(1_000_000);
    backend.last.finish("ab");
    await second.done;
    expect(first.text + second.text).toBe("ab");
  });

  test("with grace 0 ends the turn at once, but not before the first read", async () => {
    const { turns, clock } = begin();
    const { turnId } = await turns.start(asking({ graceMs: 0 }), never);
    await clock.advance(1_000);
    expect(await turns.get(turnId)).toMatchObject({ ended: false });
    const reader = new FakeReader(turns, turnId);
    await reader.seen("started");
    await reader.leave();
    await turns.untilEnded(turnId, never);
    expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
  });

  test("before the first read counts from the moment the client vanished", async () => {
    const { turns, clock } = begin();
    const client = new AbortController();
    const { turnId } = await turns.start(asking({ graceMs: 1_000 }), client.signal);
    await clock.advance(10_000);
    expect(await turns.get(turnId)).toMatchObject({ ended: false });
    client.abort();
    await clock.advance(1_000);
    expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
  });

  test("never ends a turn that was to continue to its end", async () => {
    const { turns, clock, backend } = begin();
    const { turnId } = await turns.start(asking({ graceMs: Infinity }), never);
    await clock.advance(100_000_000);
    backend.last.finish("done");
    await turns.untilEnded(turnId, never);
    expect(await turns.get(turnId)).toMatchObject({ outcome: "finished", delivered: false });
  });

  test.each([8, -30])("is counted in time that passes, also when the wall clock jumps by %i hours", async (hours) => {
    const { turns, clock } = begin();
    const { turnId } = await turns.start(asking(), never);
    const reader = new FakeReader(turns, turnId);
    await reader.seen("started");
    await reader.leave();
    await clock.advance(60_000);
    clock.jump(hours * 3_600_000);
    await clock.advance(59_999);
    expect(await turns.get(turnId)).toMatchObject({ ended: false });
    await clock.advance(1);
    expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
  });

  test("ends the turn also when the store cannot say whether it has a reader elsewhere", async () => {
    const clock = new FakeClock();
    const failing = new FailingMedium(new MemoryMedium());
    const store = openLog({ medium: failing.medium, codec: clearCodec, clock, retention: defaultRetention });
    const { turns, backend } = begin({ store, clock });
    const { turnId } = await turns.start(asking({ graceMs: 1_000 }), never);
    const reader = new FakeReader(turns, turnId);
    await reader.seen("started");
    await reader.leave();
    failing.fault = "gone";
    await clock.advance(1_000);
    expect(backend.last.stoppedBy).toBe("cancel");
  });

  test("of an onlooker means nothing, nor does its presence", async () => {
    const { turns, clock } = begin();
    const { turnId } = await turns.start(asking({ graceMs: 1_000 }), never);
    const reader = new FakeReader(turns, turnId);
    const onlooker = turns.follow(turnId, startOfLog, never);
    await onlooker.next();
    await reader.seen("started");
    await reader.leave();
    await clock.advance(1_000);
    const types: string[] = [];
    for await (const event of onlooker) types.push(event.type);
    expect(types).toEqual(["cancelled"]);
    expect(await turns.get(turnId)).toMatchObject({ delivered: false });
  });
});

describe("an idempotency key", () => {
  test("with the same request joins the turn, running or finished", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    const first = await turns.start(keyed, never);
    const second = await turns.start(keyed, never);
    expect(second).toMatchObject({ turnId: first.turnId, joined: "key" });
    await backend.prompted();
    backend.last.finish("x");
    await new FakeReader(turns, first.turnId).done;
    backend.missing = new MillraceError("ide_not_running", "No IDE runs.");
    expect(await turns.start(keyed, never)).toMatchObject({ turnId: first.turnId, joined: "key" });
    expect(backend.answers).toHaveLength(1);
  });

  test("sent twice at the same moment starts one turn", async () => {
    const { turns, backend } = begin();
    const keyed = asking({ idempotencyKey: "k" });
    const [a, b] = await Promise.all([turns.start(keyed, never), turns.start(keyed, never)]);
    expect(a.turnId).toBe(b.turnId);
    expect([a.joined, b.joined].sort()).toEqual(["key", "no"]);
    await idle();
    expect(backend.answers.filter(({ promptSent }) => promptSent)).toHaveLength(1);
    // the conversation that was started for the other one is closed before it gets a prompt
    expect(backend.answers.filter(({ stoppedBy, closed }) => closed && stoppedBy === "cancel")).toHaveLength(1);
  });

  test("with another request is a conflict", async () => {
    const { turns } = begin();
    await turns.start(asking({ idempotencyKey: "k" }), never);
    const other = asking({ idempotencyKey: "k", fingerprint: "body-2" });
    await expect(turns.start(other, never)).rejects.toMatchObject({ code: "idempotency_conflict" });
  });

  test("of another caller is another key", async () => {
    const { turns } = begin();
    const mine = await turns.start(asking({ idempotencyKey: "k" }), never);
    const theirs = await turns.start(asking({ idempotencyKey: "k", caller: "caller-2" }), never);
    expect(theirs).toMatchObject({ joined: "no" });
    expect(theirs.turnId).not.toBe(mine.turnId);
  });
});

describe("the same request again without a key", () => {
  test("joins its twin that runs without a reader", async () => {
    const { turns } = begin();
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    await reader.leave();
    expect(await turns.start(asking(), never)).toMatchObject({ turnId: first.turnId, joined: "implicit" });
  });

  test("is a new turn where the client has what it asked for while the turn runs, but for one that says it is a retry", async () => {
    const { turns } = begin();
    const first = await turns.start(asking({ graceMs: Number.POSITIVE_INFINITY }), never);
    await turns.noteDelivered(first.turnId);
    expect(await turns.start(asking({ retry: true }), never)).toMatchObject({
      turnId: first.turnId,
      joined: "implicit",
    });
    expect(await turns.start(asking(), never)).toMatchObject({ joined: "no" });
  });

  test("joins its twin that finished while its reader was gone, and replays it", async () => {
    const { turns, backend } = begin();
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    await reader.leave();
    backend.last.text("answer");
    backend.last.finish("answer");
    await turns.untilEnded(first.turnId, never);
    const again = await turns.start(asking(), never);
    expect(again).toMatchObject({ turnId: first.turnId, joined: "implicit" });
    const replay = new FakeReader(turns, again.turnId);
    await replay.done;
    expect(replay.text).toBe("answer");
  });

  test.each([
    [
      "joins it too if the process that ran it has certainly ended, because it has no reader there any more",
      true,
      "implicit",
    ],
    ["is a new turn while a process that may live had a reader a moment ago", false, "no"],
  ])("%s", async (_, gone, joined) => {
    const clock = new FakeClock();
    const store = openMemoryLog({ clock });
    const { turns, backend } = begin({ store, clock });
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    await reader.leave();
    backend.last.text("answer");
    backend.last.finish("answer");
    await turns.untilEnded(first.turnId, never);
    const next = begin({ store, clock, owner: "owner-2", ownerIsGone: () => gone });
    expect(await next.turns.start(asking(), never)).toMatchObject({ joined });
  });

  test("is a new turn where the answer was delivered whole, failed, or is being read", async () => {
    const { turns, backend, clock } = begin();
    const delivered = await turns.start(asking(), never);
    await backend.prompted();
    backend.last.finish("x");
    await new FakeReader(turns, delivered.turnId).done;
    await clock.advance(1); // turns of one millisecond have no order
    const failed = await turns.start(asking(), never);
    expect(failed.joined).toBe("no");
    await backend.prompted();
    backend.last.end();
    await turns.untilEnded(failed.turnId, never);
    await clock.advance(1);
    expect((await turns.start(asking(), never)).joined).toBe("no");
    const read = await turns.start(asking({ fingerprint: "read" }), never);
    const reader = new FakeReader(turns, read.turnId);
    await reader.seen("started");
    const again = turns.start(asking({ fingerprint: "read" }), never);
    await clock.advance(250);
    expect((await again).joined).toBe("no");
    await reader.leave();
  });

  test("waits a quarter of a second for the reader of its twin to leave, and joins as soon as it does", async () => {
    const { turns, clock, backend } = begin();
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    const again = turns.start(asking(), never);
    await clock.advance(249);
    expect(await turns.list({ limit: 5 })).toHaveLength(1);
    await reader.leave();
    expect(await again).toMatchObject({ turnId: first.turnId, joined: "implicit" });
    await clock.advance(1_000);
    expect(backend.answers).toHaveLength(1);
  });

  test("waits for a client too that vanishes before its first read, whichever of several twins it left", async () => {
    const { turns, clock, backend } = begin();
    const client = new AbortController();
    const left = await turns.start(asking(), client.signal);
    const second = turns.start(asking(), never);
    await clock.advance(250);
    expect(await second).toMatchObject({ joined: "no" });
    const again = turns.start(asking(), never);
    await clock.advance(100);
    client.abort();
    expect(await again).toMatchObject({ turnId: left.turnId, joined: "implicit" });
    expect(backend.answers).toHaveLength(2);
  });

  test("joins one that was not even stored when its client vanished", async () => {
    const found = Promise.withResolvers<void>();
    const backend = new FakeBackend();
    const { turns } = begin({
      backends: { choose: () => found.promise.then(() => backend), holding: () => found.promise.then(() => backend) },
    });
    const client = new AbortController();
    const first = turns.start(asking(), client.signal);
    await idle();
    const again = turns.start(asking(), never);
    await idle();
    client.abort();
    await idle();
    expect(await turns.list({ limit: 5 })).toHaveLength(0);
    found.resolve();
    expect(await again).toMatchObject({ turnId: (await first).turnId, joined: "implicit" });
    await idle();
    expect(backend.answers).toHaveLength(1);
  });

  test("is not held up by one that failed before it was stored", async () => {
    const found = Promise.withResolvers<Backend>();
    const backend = new FakeBackend();
    let looks = 0;
    const { turns } = begin({
      backends: {
        choose: () => (++looks === 1 ? found.promise : Promise.resolve(backend)),
        holding: () => (++looks === 1 ? found.promise : Promise.resolve(backend)),
      },
    });
    const first = turns.start(asking(), never);
    await until(() => looks === 1);
    const again = turns.start(asking(), never);
    await idle();
    expect(looks).toBe(1);
    found.reject(new MillraceError("ide_not_running", "No IDE runs."));
    await expect(first).rejects.toMatchObject({ code: "ide_not_running" });
    expect(await again).toMatchObject({ joined: "no" });
  });

  test("that says it is a retry waits for the first one to be stored, however long that takes", async () => {
    const found = Promise.withResolvers<void>();
    const backend = new FakeBackend();
    const { turns, clock } = begin({
      backends: { choose: () => found.promise.then(() => backend), holding: () => found.promise.then(() => backend) },
    });
    const first = turns.start(asking(), never);
    await idle();
    const again = turns.start(asking({ retry: true }), never);
    await clock.advance(10_000);
    found.resolve();
    expect(await again).toMatchObject({ turnId: (await first).turnId, joined: "implicit" });
  });

  test("is another turn where both clients are there: each in its own time", async () => {
    const found = Promise.withResolvers<void>();
    const backend = new FakeBackend();
    const { turns, clock } = begin({
      backends: { choose: () => found.promise.then(() => backend), holding: () => found.promise.then(() => backend) },
    });
    const asked = [turns.start(asking(), never), turns.start(asking(), never), turns.start(asking(), never)];
    await clock.advance(250);
    found.resolve();
    await clock.advance(500);
    const started = await Promise.all(asked);
    expect(started.map(({ joined }) => joined)).toEqual(["no", "no", "no"]);
    expect(new Set(started.map(({ turnId }) => turnId)).size).toBe(3);
  });

  test("waits no longer than its own client does, and starts nothing then", async () => {
    const { turns, clock, backend } = begin();
    await turns.start(asking(), never);
    const client = new AbortController();
    const again = turns.start(asking(), client.signal);
    await clock.advance(100);
    client.abort(new Error("gone"));
    await expect(again).rejects.toThrow("gone");
    expect(backend.answers).toHaveLength(1);
  });

  test.each([
    ["whose implicit joins are off", { implicitJoins: false }, asking()],
    ["that has a key of its own", {}, asking({ idempotencyKey: "k" })],
    ["of another session", {}, asking({ session: "s2" })],
  ])("does not wait in a request %s", async (_, options, other) => {
    const { turns } = begin(options);
    await turns.start(asking(), never);
    expect((await turns.start(other, never)).joined).toBe("no"); // the clock stands still
  });

  test("at two gateways on one log in the same moment is one prompt", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const gateways = [begin({ store, clock, owner: "owner-1" }), begin({ store, clock, owner: "owner-2" })];
    const starting = Promise.all(gateways.map(({ turns }) => turns.start(asking(), never)));
    await clock.advance(1_000);
    const started = await starting;
    expect(new Set(started.map(({ turnId }) => turnId)).size).toBe(1);
    expect(started.map(({ joined }) => joined).toSorted()).toEqual(["implicit", "no"]);
    await idle();
    const prompts = gateways.flatMap(({ backend }) => backend.answers).filter(({ promptSent }) => promptSent);
    expect(prompts).toHaveLength(1);
    expect(await store.list({ limit: 9 })).toHaveLength(1);
  });

  test("waits for no reader of a turn that another process runs", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const one = begin({ store, clock, owner: "one" });
    const first = await one.turns.start(asking(), never);
    const two = begin({ store, clock, owner: "two" });
    const reader = new FakeReader(two.turns, first.turnId);
    await reader.seen("started");
    expect((await two.turns.start(asking(), never)).joined).toBe("no");
    await reader.leave();
  });

  test("that says it is a retry joins although the first reader seems to be there", async () => {
    const { turns } = begin();
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    expect(await turns.start(asking({ retry: true }), never)).toMatchObject({
      turnId: first.turnId,
      joined: "implicit",
    });
    await reader.leave();
  });

  test.each([
    ["another caller", asking({ caller: "caller-2" })],
    ["another body", asking({ fingerprint: "body-2" })],
    ["another session", asking({ session: "s2" })],
  ])("of %s is a new turn", async (_, other) => {
    const { turns } = begin();
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    await reader.leave();
    expect((await turns.start(other, never)).joined).toBe("no");
  });

  test("is a new turn where implicit joins are off", async () => {
    const { turns } = begin({ implicitJoins: false });
    const first = await turns.start(asking(), never);
    const reader = new FakeReader(turns, first.turnId);
    await reader.seen("started");
    await reader.leave();
    expect((await turns.start(asking(), never)).joined).toBe("no");
  });
});

describe("a new request of the same session", () => {
  test("ends the turn that the client left behind, and only that one", async () => {
    const { turns } = begin();
    const left = await turns.start(asking({ session: "s" }), never);
    const reader = new FakeReader(turns, left.turnId);
    const read = await turns.start(asking({ session: "s", fingerprint: "title" }), never);
    const other = new FakeReader(turns, read.turnId);
    const background = await turns.start(asking({ session: "s", fingerprint: "bg", graceMs: Infinity }), never);
    const gone = new FakeReader(turns, background.turnId);
    await Promise.all([reader, other, gone].map((present) => present.seen("started")));
    await gone.leave();
    await reader.leave();
    await turns.start(asking({ session: "s", fingerprint: "body-2" }), never);
    expect(await turns.get(left.turnId)).toMatchObject({ outcome: "cancelled" });
    expect(await turns.get(read.turnId)).toMatchObject({ ended: false });
    expect(await turns.get(background.turnId)).toMatchObject({ ended: false });
    await other.leave();
  });
});

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

  test("leaves a turn that never got its prompt to the next process, which sends it", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const crashed = await store.create({ ...record(clock), request: plainRequest }, "gone");
    const { backend, turns } = begin({ store, clock });
    await backend.prompted();
    expect(backend.last.resumedFrom).toBeUndefined();
    backend.last.finish("x");
    await turns.untilEnded(crashed.record.turnId, never);
    expect(await turns.get(crashed.record.turnId)).toMatchObject({ outcome: "finished" });
  });

  test("with a thousand running turns leaves none behind: each continues once, and adds what its log lacked", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
    const ids = Array.from({ length: 1_000 }, (_, n) => `turn_${n}` as TurnId);
    for (const [n, turnId] of ids.entries()) {
      const { writer } = await store.create({ ...record(clock), turnId, fingerprint: turnId }, "gone");
      if (n % 3 === 0) continue; // it died before its prompt was sent
      await writer?.append([started], clock.now());
      if (n % 3 === 2) await writer?.append([{ type: "text", delta: "half " }], clock.now());
    }
    const { backend, turns } = begin({ store, clock });
    await expect.poll(() => backend.answers.length).toBe(1_000);
    expect(backend.answers.filter(({ resumedFrom }) => resumedFrom === undefined)).toHaveLength(334);
    for (const [n, answer] of backend.answers.entries()) {
      answer.text("half ", `and whole ${n}`);
      answer.finish(`half and whole ${n}`);
    }
    await expect.poll(() => turns.list({ open: true, limit: 1 })).toEqual([]);
    await clock.advance(30_000);
    expect(backend.answers).toHaveLength(1_000);
    for (const turnId of ids) {
      const events = await readAll(store, turnId);
      const said = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
      expect(said).toMatch(/^half and whole \d+$/);
      expect(events.map(({ type }) => type).filter((type) => type !== "text")).toEqual(["started", "finished"]);
    }
  });

  test("with a cancel not yet carried out leaves it to the next process, which ends and archives the turn", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { writer } = await store.create(record(clock), "gone");
    if (writer === undefined) throw new Error("not created");
    const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
    await writer.append([started], clock.now());
    await store.requestCancel(writer.turnId, "client");
    const { backend, turns } = begin({ store, clock });
    await turns.untilEnded(writer.turnId, never);
    expect(await turns.get(writer.turnId)).toMatchObject({ outcome: "cancelled" });
    expect(backend.answers).toHaveLength(1);
    expect(backend.last).toMatchObject({ resumedFrom: { cascadeId: fakeCascade }, stoppedBy: "cancel", closed: true });
  });

  test.each([
    { by: "client", cleanUpMs: 300 },
    { by: "client", cleanUpMs: 5_000 },
    { by: "superseded", cleanUpMs: 300 },
    { by: "superseded", cleanUpMs: 5_000 },
    { by: "abandoned", cleanUpMs: 300 },
    { by: "abandoned", cleanUpMs: 5_000 },
  ] as const)(
    "is ended as $by once its backend has cleaned up ($cleanUpMs ms), or after a second, and a crash meanwhile loses nothing",
    async ({ by, cleanUpMs }) => {
      const clock = new FakeClock();
      const store = openMemoryLog({ clock });
      const inner = new FakeBackend();
      const slow: Backend = {
        kind: "cascade",
        resume: (...asked) => inner.resume(...asked),
        archive: () => Promise.resolve(),
        async *run(prompt, options, signal) {
          try {
            yield* inner.run(prompt, options, signal);
          } finally {
            await clock.sleep(cleanUpMs, never);
          }
        },
      };
      const { turns } = begin({
        store,
        clock,
        backends: { choose: () => Promise.resolve(slow), holding: () => Promise.resolve(slow) },
      });
      const client = new AbortController();
      const { turnId } = await turns.start(asking({ session: "s", graceMs: 10_000 }), client.signal);
      client.abort();
      await inner.prompted();
      if (by === "client") void turns.cancel(turnId, by);
      if (by === "superseded") void turns.start(asking({ session: "s", fingerprint: "body-2" }), never);
      await idle();
      if (by === "abandoned") await clock.advance(10_000);
      await clock.advance(Math.min(cleanUpMs, 1_000) - 1);
      expect(inner.answers[0]?.stoppedBy).toBe("cancel");
      expect(await turns.get(turnId)).toMatchObject({ ended: false, cancelRequested: by });
      await clock.advance(1);
      expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
      const stopped = turns.stop();
      await clock.advance(10_000);
      await stopped;
    },
  );

  test("that was taken over by another process is not ended by the process that finds no reader", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { turns, backend } = begin({ store, clock });
    const { turnId } = await turns.start(asking({ graceMs: 1_000 }), never);
    const reader = new FakeReader(turns, turnId);
    await reader.seen("started");
    await reader.leave();
    await store.claim(turnId, "owner-2");
    await clock.advance(1_000);
    expect(backend.last).toMatchObject({ stoppedBy: "detach", closed: true });
    expect(await store.get(turnId)).toMatchObject({ ended: false, cancelRequested: undefined });
  });

  test.each([{ found: "within a second" }, { found: "later" }])(
    "takes a cancel while it looks for the IDE, and passes it on when the IDE is found $found",
    async ({ found }) => {
      const clock = new FakeClock();
      const store = durable(openMemoryLog({ clock }));
      const { writer } = await store.create(record(clock), "gone");
      if (writer === undefined) throw new Error("not created");
      const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
      await writer.append([started], clock.now());
      const backend = new FakeBackend();
      backend.missing = new MillraceError("ide_not_running", "Not yet.");
      const { turns } = begin({ store, clock, backends: backend });
      await clock.advance(2_500);
      const cancelled = turns.cancel(writer.turnId, "client");
      if (found === "within a second") backend.missing = undefined;
      await clock.advance(499);
      expect(await turns.get(writer.turnId)).toMatchObject({ ended: false, cancelRequested: "client" });
      await clock.advance(501);
      await cancelled;
      expect(await turns.get(writer.turnId)).toMatchObject({ outcome: "cancelled" });
      expect(backend.answers).toHaveLength(found === "later" ? 0 : 1);
      backend.missing = undefined;
      await clock.advance(2_000);
      expect(backend.answers).toHaveLength(1);
      expect(backend.last).toMatchObject({
        resumedFrom: { cascadeId: fakeCascade },
        stoppedBy: "cancel",
        closed: true,
      });
    },
  );

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
    const medium = new MemoryMedium();
    const codec = sealedCodec(encodeKey(new Uint8Array(32).fill(1)));
    const store = durable(openLog({ medium: tampering(medium), codec, clock, retention: defaultRetention }));
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
    await clock.advance(2_000);
    expect(backend.answers).toHaveLength(0);
    expect(await turns.get("turn_left" as TurnId)).toMatchObject({ ended: false });
    await clock.advance(10_000);
    expect(backend.answers).toHaveLength(1);
    backend.last.text("half and whole");
    backend.last.finish("half and whole");
    await turns.untilEnded("turn_left" as TurnId, never);
    expect(await turns.get("turn_left" as TurnId)).toMatchObject({ outcome: "finished" });
  });

  test("of another process that lives leaves its turns alone until its lease is over", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    await store.renewOwner("neighbour", clock.now() + 10_000);
    await store.create(record(clock), "neighbour");
    const { backend } = begin({ store, clock });
    await clock.advance(9_000);
    expect(backend.answers).toHaveLength(0);
    await clock.advance(3_000);
    expect(backend.answers).toHaveLength(1);
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

function record(clock: FakeClock) {
  return {
    ...asking(),
    turnId: "turn_left" as TurnId,
    createdAtMs: clock.now(),
    graceMs: 120_000,
  };
}

/** A medium that changes a byte of every record that is read. */
function tampering(medium: MemoryMedium): LogMedium {
  return new Proxy(medium, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "read") return typeof value === "function" ? value.bind(target) : value;
      return async (...values: Parameters<LogMedium["read"]>) => {
        const found = await target.read(...values);
        return found && { ...found, events: found.events.map((event) => ({ ...event, atMs: event.atMs + 1 })) };
      };
    },
  });
}
