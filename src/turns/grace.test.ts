import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import type { TurnId } from "../base/ids.ts";
import { memoryRows, openMemoryLog } from "../log/memory-log.fake.ts";
import { FailingRows } from "../log/rows.fake.ts";
import type { LogStore } from "../log/store.ts";
import type { Turns } from "./open-turns.ts";
import { asking, durable, FakeReader, fakeTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
const open: Turns[] = [];

/** A process over a log, whose turns continue for two minutes if no client asks for another time. */
function processOver(store: LogStore, clock: FakeClock, owner = "owner-1") {
  const { turns } = fakeTurns({ store, clock, owner });
  open.push(turns);
  return turns;
}

function begin() {
  const clock = new FakeClock();
  const store = openMemoryLog({ clock });
  return { clock, store, turns: processOver(store, clock) };
}

/** Somebody who asks for this and reads it until it leaves. */
async function come(turns: Turns, overrides: Parameters<typeof asking>[0]) {
  const { turnId, joined } = await turns.start(asking(overrides), never);
  const reader = new FakeReader(turns, turnId);
  await reader.seen("started");
  const leave = async () => {
    await reader.leave();
  };
  return { turnId, joined, leave };
}

/** Checks that a turn without a reader ends after this time, and not before. */
async function expectEndAfter(ms: number, clock: FakeClock, turns: Turns, turnId: TurnId): Promise<void> {
  await clock.advance(Math.min(ms, 86_400_000) - 1);
  expect(await turns.get(turnId)).toMatchObject({ ended: false });
  await clock.advance(1);
  expect(await turns.get(turnId)).toMatchObject(ms === Infinity ? { ended: false } : { outcome: "cancelled" });
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((turns) => turns.stop()));
});

const asks = [
  ["a longer one", 5_000, 30_000, 30_000],
  ["a longer one than is configured", undefined, 300_000, 300_000],
  ["a shorter one", 30_000, 5_000, 30_000],
  ["none", 5_000, undefined, 5_000],
  ["an endless one", 5_000, Infinity, Infinity],
  ["one, where it is endless", Infinity, 5_000, Infinity],
] as const;

describe("the grace time of a turn", () => {
  test.each(asks)(
    "grows with a client that joins by the key, and never shrinks: %s",
    async (_, first, second, longest) => {
      const { clock, turns } = begin();
      const one = await come(turns, { idempotencyKey: "k", graceMs: first });
      const two = await come(turns, { idempotencyKey: "k", graceMs: second });
      expect([two.turnId, two.joined]).toEqual([one.turnId, "key"]);
      await two.leave();
      await one.leave();
      await expectEndAfter(longest, clock, turns, one.turnId);
    },
  );

  test.each(asks)("grows with a client that joins without a key: %s", async (_, first, second, longest) => {
    const { clock, turns } = begin();
    const one = await come(turns, { graceMs: first });
    await one.leave();
    await clock.advance(1_000);
    const two = await come(turns, { graceMs: second });
    expect([two.turnId, two.joined]).toEqual([one.turnId, "implicit"]);
    await two.leave();
    await expectEndAfter(longest, clock, turns, one.turnId);
  });

  test("stays as long as a client asked that has left, for any requests of others before and after", async () => {
    const { clock, turns } = begin();
    const readers = [];
    for (const graceMs of [5_000, 40_000, 1_000]) readers.push(await come(turns, { idempotencyKey: "k", graceMs }));
    for (const reader of readers) await reader.leave();
    await expectEndAfter(40_000, clock, turns, readers[0]?.turnId ?? ("" as TurnId));
  });

  test("grows with who resumes it, and with who attaches again to its stream", async () => {
    const { clock, turns } = begin();
    const { turnId, leave } = await come(turns, { graceMs: 5_000 });
    const record = await turns.get(turnId);
    if (record === undefined) throw new Error("no turn");
    expect(await turns.noteReader(record, 30_000)).toMatchObject({ graceMs: 30_000 });
    await leave();
    await expectEndAfter(30_000, clock, turns, turnId);

    const name = { caller: "caller-1", name: "stream", clientKey: undefined };
    const gone = new AbortController();
    const first = await turns.attach(name, "create");
    const sent = await first.send(
      { seqno: 0, payload: Uint8Array.of(1) },
      asking({ fingerprint: "body-2", graceMs: 5_000 }),
      gone.signal,
    );
    first.close();
    (await turns.attach(name, "resume", { graceMs: 30_000 })).close();
    gone.abort();
    await expectEndAfter(30_000, clock, turns, sent.turn?.turnId ?? ("" as TurnId));
  });

  test("is as long as was asked for at another gateway that shares the log", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const turns = processOver(store, clock);
    const { turnId, leave } = await come(turns, { idempotencyKey: "k", graceMs: 5_000 });
    const other = await come(processOver(store, clock, "owner-2"), { idempotencyKey: "k", graceMs: 30_000 });
    expect(other.turnId).toBe(turnId);
    await other.leave();
    await leave();
    await expectEndAfter(30_000, clock, turns, turnId);
  });

  test("is as long as was asked for while the log cannot be written", async () => {
    const clock = new FakeClock();
    const failing = new FailingRows(await memoryRows());
    const store = openMemoryLog({ rows: failing.rows, clock });
    const turns = processOver(store, clock);
    const { turnId, leave } = await come(turns, { idempotencyKey: "k", graceMs: 5_000 });
    failing.fault = "full";
    const client = new AbortController();
    expect(await turns.start(asking({ idempotencyKey: "k", graceMs: 30_000 }), client.signal)).toMatchObject({
      turnId,
    });
    failing.fault = "none";
    client.abort();
    await leave();
    await expectEndAfter(30_000, clock, turns, turnId);
  });
});
