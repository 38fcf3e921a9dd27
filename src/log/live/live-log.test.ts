import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import { clearCodec } from "../medium/codec.ts";
import { FailingMedium } from "../medium/failing-medium.fake.ts";
import { openLog } from "../medium/open-log.ts";
import { MemoryMedium } from "../memory/memory-medium.ts";
import { openMemoryLog } from "../memory/open-memory-log.ts";
import { readAll } from "../read-all.ts";
import { readTurn } from "../read-turn.ts";
import { defaultRetention } from "../retention.ts";
import { describeLogStore } from "../store.conformance.ts";
import { alone, begin, created, finished, never, now, text } from "./live-log.fake.ts";
import { openLiveLog } from "./open-live-log.ts";

describeLogStore("live over a store that is well", alone, async () => ({
  open: async (clock) => openLiveLog({ open: async () => openMemoryLog({ clock }), capabilities: alone, clock }),
  dispose: async () => {},
}));

describeLogStore("live over a store that takes no turns", alone, async () => ({
  open: async (clock) => {
    const failing = new FailingMedium(new MemoryMedium());
    failing.fault = "turnless";
    const store = openLog({ medium: failing.medium, codec: clearCodec, clock, retention: defaultRetention });
    return openLiveLog({ open: async () => store, capabilities: alone, clock });
  },
  dispose: async () => {},
}));

describe("a store that fails", () => {
  test.each(["full", "gone"] as const)(
    "because it is %s leaves a new turn in memory, and says so once",
    async (fault) => {
      const { failing, log, said } = await begin();
      failing.fault = fault;
      const { record, writer, turnId } = await created(log);
      await created(log);
      expect(record.degraded).toBe(true);
      await writer.append([text("a"), finished], now);
      expect(await readAll(log, turnId)).toHaveLength(2);
      expect(said).toEqual(["degraded"]);
      expect(log.degradedBy?.message).toContain(fault);
      await log.close().catch(() => undefined);
    },
  );

  test.each(["full", "gone"] as const)(
    "because it is %s in the middle of a turn costs its readers no event",
    async (fault) => {
      const { failing, log } = await begin();
      const { writer, turnId } = await created(log);
      const live: string[] = [];
      const reading = (async () => {
        for await (const event of readTurn(log, { turnId, after: startOfLog }, never)) live.push(event.eventId);
      })();
      await writer.append([text("a")], now);
      await writer.append([text("b")], now);
      failing.fault = fault;
      await writer.append([text("c")], now);
      await writer.append([text("d"), finished], now);
      await reading;
      expect(live).toEqual(["a1", "a2", "a3", "a4", "a5"]);
      expect((await readAll(log, turnId)).map(({ eventId }) => eventId)).toEqual(live);
      await log.close().catch(() => undefined);
    },
  );

  test("when a turn has just ended costs those who still read it nothing, and nothing of it is left here once they have", async () => {
    const { clock, failing, primary, log } = await begin();
    const { writer, turnId } = await created(log);
    const reader = readTurn(log, { turnId, after: startOfLog }, never);
    await writer.append([text("a")], now);
    expect((await reader.next()).value).toMatchObject({ eventId: "a1" });
    await writer.append([text("b"), finished], now);
    failing.fault = "gone";
    const rest: string[] = [];
    for await (const { eventId } of reader) rest.push(eventId);
    expect(rest).toEqual(["a2", "a3"]);
    failing.fault = "none";
    await clock.advance(2_000);
    expect((await readAll(primary, turnId)).map(({ eventId }) => eventId)).toEqual(["a1", "a2", "a3"]);
    await log.noteDelivered(turnId);
    failing.fault = "gone";
    await expect(readAll(log, turnId)).rejects.toMatchObject({ code: "degraded" });
    await log.close().catch(() => undefined);
  });

  test("and works again takes back every turn, running or ended, under the same ids", async () => {
    const { clock, failing, primary, log, said } = await begin();
    const before = await created(log);
    await before.writer.append([text("a")], now);
    failing.fault = "full";
    await before.writer.append([text("b")], now);
    const during = await created(log, { idempotencyKey: "k" });
    await during.writer.append([text("x"), finished], now);
    const reader = readTurn(log, { turnId: before.turnId, after: startOfLog }, never);
    await reader.next();
    await clock.advance(5_000);
    failing.fault = "none";
    await clock.advance(2_000);
    expect(said).toEqual(["degraded", undefined]);
    expect((await log.get(before.turnId))?.degraded).toBe(false);
    await before.writer.append([text("c"), finished], now);
    expect((await readAll(primary, before.turnId)).map(({ eventId }) => eventId)).toEqual(["a1", "a2", "a3", "a4"]);
    expect(await readAll(primary, during.turnId)).toHaveLength(2);
    expect(await primary.get(during.turnId)).toMatchObject({ ended: true, idempotencyKey: "k" });
    const rest: string[] = [];
    for await (const event of reader) rest.push(event.eventId);
    expect(rest).toEqual(["a2", "a3", "a4"]);
    await log.close();
  });

  test("keeps in mind what was delivered meanwhile, from memory or from the store, and stores it once the store works", async () => {
    const { clock, failing, primary, log } = await begin();
    const stored = await created(log);
    await stored.writer.append([finished], now);
    failing.fault = "gone";
    const kept = await created(log);
    await kept.writer.append([finished], now);
    for (const { turnId } of [stored, kept]) await log.noteDelivered(turnId);
    expect(await log.get(kept.turnId)).toMatchObject({ delivered: true });
    failing.fault = "none";
    expect(await log.get(stored.turnId)).toMatchObject({ delivered: true }); // not told yet
    await clock.advance(2_000);
    expect(log.degradedBy).toBeUndefined();
    for (const { turnId } of [stored, kept]) expect(await primary.get(turnId)).toMatchObject({ delivered: true });
    await log.close().catch(() => undefined);
  });

  test("while a reader waits wakes it when the turn moves", async () => {
    const { clock, failing, log } = await begin();
    const { writer, turnId } = await created(log);
    await writer.append([text("a")], now);
    const waiting = log.untilPast(turnId, "a1" as never, never);
    failing.fault = "full";
    await writer.append([text("b")], now);
    await waiting;
    const again = log.untilPast(turnId, "a2" as never, never);
    failing.fault = "none";
    await clock.advance(2_000);
    await writer.append([text("c")], now);
    await expect(again).resolves.toBeUndefined();
    await log.close();
  });

  test("still lets this process cancel its turns", async () => {
    const { failing, log } = await begin();
    const { turnId } = await created(log);
    failing.fault = "full";
    await expect(log.requestCancel(turnId, "client")).resolves.toBe(true);
    await log.close();
  });

  test("opens later when it could not be opened at first", async () => {
    const clock = new FakeClock();
    const memory = openMemoryLog({ clock });
    let locked = true;
    const log = await openLiveLog({
      open: async () => {
        if (locked) throw new MillraceError("degraded", "The log's file is locked.");
        return memory;
      },
      capabilities: alone,
      clock,
    });
    const { turnId, writer } = await created(log);
    await writer.append([finished], clock.now());
    locked = false;
    await clock.advance(2_000);
    expect(log.degradedBy).toBeUndefined();
    expect(await memory.get(turnId)).toMatchObject({ ended: true });
    await log.close();
  });
});
