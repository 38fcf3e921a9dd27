import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { startOfLog } from "../base/ids.ts";
import { memoryRows, openMemoryLog } from "../log/memory-log.fake.ts";
import { FailingRows } from "../log/rows.fake.ts";
import { asking, FakeReader, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
/** Turns that are stopped after the test. */
const begin = stoppedTurns();

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
    const failing = new FailingRows(await memoryRows());
    const store = openMemoryLog({ rows: failing.rows, clock });
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
