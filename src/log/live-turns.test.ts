import { expect, test, vi } from "vitest";
import { startOfLog, type TurnId } from "../base/ids.ts";
import type { LiveLog } from "./live.ts";
import { begin, created, finished, never, now, text } from "./live-log.fake.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

async function ended(log: LiveLog, overrides = {}): Promise<TurnId> {
  const { writer, turnId } = await created(log, overrides);
  await writer.append([text("a"), finished], now);
  return turnId;
}

/** Of these turns, which memory can still show while the store is gone. */
async function inMemory({ log, failing }: Awaited<ReturnType<typeof begin>>, turnIds: readonly TurnId[]) {
  failing.fault = "gone";
  const looks = turnIds.map((turnId) => log.readAfter(turnId, startOfLog, { limit: 9 }).then(() => turnId));
  const shown = (await Promise.allSettled(looks)).flatMap((look) => (look.status === "fulfilled" ? look.value : []));
  failing.fault = "none";
  return shown;
}

test("memory holds the newest 64 turns that ended; those before them are in the store alone", async () => {
  const world = await begin();
  const turnIds: TurnId[] = [];
  for (let i = 0; i < 66; i++) turnIds.push(await ended(world.log));
  expect(await inMemory(world, turnIds)).toEqual(turnIds.slice(2));
  await world.log.close();
});

test("a turn that ended leaves memory a minute later, by the clock that never goes back", async () => {
  const world = await begin();
  const { log, clock } = world;
  const turnId = await ended(log);
  clock.jump(hourMs);
  await clock.advance(minuteMs);
  await log.sweep();
  expect(await inMemory(world, [turnId])).toEqual([turnId]);
  await clock.advance(1_001); // the store that was gone is looked at again meanwhile
  clock.jump(-hourMs);
  await log.sweep();
  expect(await inMemory(world, [turnId])).toEqual([]);
  expect((await log.readAfter(turnId, startOfLog, { limit: 9 })).events).toHaveLength(2);
  await log.close();
});

test("a turn that the store lacks stays in memory until it expires, and for no moment longer", async () => {
  const world = await begin();
  const { log, clock, failing } = world;
  failing.fault = "full";
  const turnId = await ended(log);
  failing.fault = "none";
  await clock.advance(1_000);
  const { expiresAtMs } = (await log.get(turnId)) ?? { expiresAtMs: 0 };
  await clock.advance(expiresAtMs - clock.now() - 1);
  await log.sweep();
  expect(await log.get(turnId)).toMatchObject({ degraded: true });
  await clock.advance(1);
  expect(await log.get(turnId)).toBeUndefined();
  await log.close();
});

test("a stream that memory alone holds expires, and its name is free again once its tombstone is gone", async () => {
  const { log, clock, failing } = await begin();
  failing.fault = "full";
  const name = { caller: "caller-1", name: "stream", clientKey: undefined };
  const { nextTicket } = await log.attachStream(name, "create");
  failing.fault = "none";
  await clock.advance(2 * hourMs);
  await log.sweep();
  await expect(log.attachStream(name, "resume", nextTicket)).rejects.toMatchObject({ code: "expired" });
  await clock.advance(24 * hourMs);
  await log.sweep();
  expect(await log.attachStream(name, "create")).toMatchObject({ degraded: false, epoch: 1 });
  await log.close();
});

test("a sweep erases all that has expired, however much that is, and leaves tombstones for a day", async () => {
  const { log, failing, clock } = await begin();
  const turnIds = await Promise.all(Array.from({ length: 130 }, () => ended(log)));
  const kinds = async () =>
    new Set(await Promise.all(turnIds.map(async (turnId) => (await failing.rows.get(turnId))?.kind)));
  const entries = async () =>
    (await Promise.all(turnIds.map((turnId) => failing.rows.entries(turnId, 0, { count: 9, bytes: 9 })))).flat();
  const after = async (ms: number) => {
    await clock.advance(ms);
    await log.sweep();
    return [...(await kinds())];
  };
  expect(await after(2 * hourMs - 1)).toEqual(["turn"]);
  expect(await after(1)).toEqual(["tombstone"]);
  expect(await entries()).toEqual([]);
  expect(await after(24 * hourMs - 1)).toEqual(["tombstone"]);
  expect(await after(1)).toEqual([undefined]);
  await log.close();
});

test("the oldest running turn counts also where memory alone holds it", async () => {
  const { log, failing, clock } = await begin();
  failing.fault = "full";
  const { writer } = await created(log, { createdAtMs: 5 });
  failing.fault = "none";
  await clock.advance(2_000);
  await created(log, { createdAtMs: 7 });
  expect(await log.oldestRunningMs()).toBe(5);
  await writer.append([finished], now);
  expect(await log.oldestRunningMs()).toBe(7);
  await log.close();
});

test("a longer grace time stays when a reader asks for a shorter one, also where memory alone holds the turn", async () => {
  const { log, failing } = await begin();
  failing.fault = "full";
  const { turnId } = await created(log, { graceMs: 1_000 });
  await log.noteReader(turnId, now, 9_000);
  await log.noteReader(turnId, now, 3_000);
  expect(await log.get(turnId)).toMatchObject({ graceMs: 9_000 });
  await log.close();
});

test("turns of one stream are kept as long as the last of them, and none of them shorter than before", async () => {
  const { log, clock } = await begin();
  const first = await ended(log);
  await clock.advance(minuteMs);
  const last = await ended(log);
  const expiry = async (turnId: TurnId) => (await log.get(turnId))?.expiresAtMs ?? 0;
  const [before, latest] = [await expiry(first), await expiry(last)];
  expect(latest - before).toBe(minuteMs);
  await log.keepTogether([last, first]);
  expect([await expiry(first), await expiry(last)]).toEqual([before, latest]);
  await log.keepTogether([first, last]);
  expect([await expiry(first), await expiry(last)]).toEqual([latest, latest]);
  await log.close();
});

test("a wait for the store ends when the store works again", async () => {
  const { log, failing, clock, said } = await begin();
  failing.fault = "full";
  await created(log);
  const recovered = log.untilRecovered(never);
  await clock.advance(5_000);
  expect(said).toEqual(["degraded"]); // the same fault is told once
  failing.fault = "broken";
  await clock.advance(5_000);
  expect(said).toEqual(["degraded", "internal"]); // and so is another one that takes its place
  failing.fault = "none";
  await clock.advance(1_000);
  await recovered;
});

test("a cancel that another process requests at any moment of a claim is known to the one that claims", async () => {
  const { log, other, failing } = await begin();
  const cancelled = async (turnId: TurnId) => {
    expect((await log.claim(turnId, "owner-2"))?.record.cancelRequested).toBe("client");
    expect(await log.untilCancelRequested(turnId, never)).toBe("client");
  };
  const before = await created(other);
  await other.requestCancel(before.turnId, "client");
  await cancelled(before.turnId);
  const between = await created(other);
  const commit = failing.rows.commit.bind(failing.rows);
  vi.spyOn(failing.rows, "commit").mockImplementationOnce(async (...asked) => {
    await other.requestCancel(between.turnId, "client");
    return commit(...asked);
  });
  await cancelled(between.turnId);
  await log.close();
});

test("a cancel that another gateway requests after a claim is heard over a store that both have", async () => {
  const { log, other } = await begin({ isShared: true });
  const { turnId } = await created(other);
  await log.claim(turnId, "owner-2");
  await other.requestCancel(turnId, "client");
  expect(await log.untilCancelRequested(turnId, never)).toBe("client");
  await log.close();
});
