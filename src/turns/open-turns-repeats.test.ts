import { describe, expect, test } from "vitest";
import type { Backend } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { idle, until } from "../base/wait.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import { FakeBackend } from "./backend.fake.ts";
import { asking, FakeReader, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
/** Turns that are stopped after the test. */
const begin = stoppedTurns();

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

  test("joins it too if an earlier gateway of its home ran it, because it has no reader there any more", async () => {
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
    const next = begin({ store, clock, owner: "owner-2" });
    expect(await next.turns.start(asking(), never)).toMatchObject({ joined: "implicit" });
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
