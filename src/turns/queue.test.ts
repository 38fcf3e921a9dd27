import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import type { ModelUid, TurnId } from "../base/ids.ts";
import { idle } from "../base/wait.fake.ts";
import { inMemory, openMemoryLog } from "../log/memory-log.fake.ts";
import type { LogStore } from "../log/store.ts";
import type { Turns } from "./open-turns.ts";
import { type TurnLimits, TurnQueue } from "./queue.ts";
import { asking, bound, FakeReader, type FakeTurns, fakeTurns } from "./turns.fake.ts";
import type { AskedTurn } from "./turns.ts";

const never = new AbortController().signal;
const open: Turns[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((turns) => turns.stop()));
});

/** Turns under limits; `come` starts one and reads it. */
function limited(
  limits: TurnLimits,
  overrides: { readonly clock?: FakeClock; readonly store?: LogStore; readonly owner?: string } = {},
) {
  const clock = overrides.clock ?? new FakeClock();
  const fake = { ...fakeTurns({ limits, ...overrides, clock }), clock };
  open.push(fake.turns);
  let asked = 0;
  const come = async (part: Partial<AskedTurn> = {}) => {
    const left = new AbortController();
    const starting = fake.turns.start(asking({ fingerprint: `body-${++asked}`, ...part }), left.signal);
    await fake.clock.advance(250); // a turn that waits is stored by then
    const { turnId } = await starting;
    const reader = new FakeReader(fake.turns, turnId);
    await idle();
    const leave = async () => {
      left.abort();
      await reader.leave();
      await idle();
    };
    return { turnId, reader, leave };
  };
  return { ...fake, come };
}

async function finish({ backend }: Pick<FakeTurns, "backend">, index: number): Promise<void> {
  backend.answers[index]?.finish("done");
  await idle();
}

const prompts = ({ backend }: Pick<FakeTurns, "backend">) => backend.answers.length;

describe("with at most so many turns at once", () => {
  test("the others wait, know their place, and their prompt is sent when it is their turn", async () => {
    const fake = limited({ mostTurns: () => 2 });
    const [, , third, fourth] = [await fake.come(), await fake.come(), await fake.come(), await fake.come()];
    expect(prompts(fake)).toBe(2);
    expect(fake.turns.placeInQueue(third.turnId)).toEqual({ position: 1, of: 2 });
    expect(fake.turns.placeInQueue(fourth.turnId)).toEqual({ position: 2, of: 2 });
    expect(fake.turns.load()).toEqual({ running: 2, waiting: 2 });
    expect(fake.turns.lastAliveAtMs(fourth.turnId)).toBe(fake.clock.now());
    await finish(fake, 0);
    expect(prompts(fake)).toBe(3);
    expect(fake.turns.placeInQueue(third.turnId)).toBeUndefined();
    expect(fake.turns.placeInQueue(fourth.turnId)).toEqual({ position: 1, of: 1 });
    await finish(fake, 1);
    await finish(fake, 2);
    await third.reader.done;
    expect(third.reader.types).toEqual(["started", "finished"]);
    expect(prompts(fake)).toBe(4);
  });

  test("the turn that came first is served first, whoever asks", async () => {
    const fake = limited({ mostTurns: () => 2 });
    await fake.come({ caller: "busy" });
    await fake.come({ caller: "ada" });
    const busy = [await fake.come({ caller: "busy" }), await fake.come({ caller: "busy" })];
    const other = await fake.come({ caller: "other" });
    expect([...busy, other].map(({ turnId }) => fake.turns.placeInQueue(turnId)?.position)).toEqual([1, 2, 3]);
    await finish(fake, 1);
    expect([...busy, other].map(({ turnId }) => fake.turns.placeInQueue(turnId)?.position)).toEqual([undefined, 1, 2]);
  });

  test("an agent of its own does not wait for the IDE", async () => {
    const fake = limited({ mostTurns: () => 1 });
    await fake.come();
    await fake.come({ modelUid: "opencode/big" as ModelUid });
    expect(prompts(fake)).toBe(2);
  });

  test("a client that leaves while it waits costs no prompt, lets others pass, and finds its place when it comes back", async () => {
    const fake = limited({ mostTurns: () => 1 });
    await fake.come();
    const gone = await fake.come({ idempotencyKey: "k", fingerprint: "gone" });
    const third = await fake.come();
    await gone.leave();
    await finish(fake, 0);
    expect(fake.turns.placeInQueue(third.turnId)).toBeUndefined();
    expect(prompts(fake)).toBe(2);
    await finish(fake, 1);
    expect(prompts(fake)).toBe(2); // the place is free, and the turn that would get it has no reader
    const back = await fake.come({ idempotencyKey: "k", fingerprint: "gone" });
    expect(back.turnId).toBe(gone.turnId);
    expect(prompts(fake)).toBe(3);
  });

  test("a turn that waits ends with its grace time, or when it is cancelled, and no prompt is sent for it", async () => {
    const fake = limited({ mostTurns: () => 1 });
    await fake.come();
    const gone = await fake.come({ graceMs: 5_000 });
    const cancelled = await fake.come();
    await gone.leave();
    await fake.clock.advance(5_000);
    expect(await fake.turns.get(gone.turnId)).toMatchObject({ outcome: "cancelled" });
    await fake.turns.cancel(cancelled.turnId, "client");
    await fake.turns.untilEnded(cancelled.turnId, never);
    expect(await fake.turns.get(cancelled.turnId)).toMatchObject({ outcome: "cancelled" });
    await finish(fake, 0);
    expect(fake.backend.answers.filter(({ promptSent }) => promptSent)).toHaveLength(1);
    await fake.come();
    expect(fake.turns.placeInQueue(cancelled.turnId)).toBeUndefined();
  });

  test("a turn that continues without its client runs without a reader", async () => {
    const fake = limited({ mostTurns: () => 1 });
    await fake.come();
    const detached = await fake.come({ graceMs: Infinity });
    await detached.leave();
    await finish(fake, 0);
    expect(prompts(fake)).toBe(2);
  });

  test("the next process continues with what ran, and lets the others wait: nothing is sent twice", async () => {
    const clock = new FakeClock();
    const store = openMemoryLog({ clock });
    const survives = { ...bound(store), capabilities: { ...inMemory, survivesRestart: true } };
    const before = limited({ mostTurns: () => 1 }, { store: survives, clock });
    const running = await before.come();
    const waiting = await before.come();
    const stopping = before.turns.stop();
    await clock.advance(10_000);
    await stopping;
    const after = limited({ mostTurns: () => 1 }, { store: survives, clock, owner: "owner-2" });
    await clock.advance(3_000);
    expect(after.backend.answers.map(({ resumedFrom }) => resumedFrom !== undefined)).toEqual([true]);
    expect(after.turns.placeInQueue(waiting.turnId)).toEqual({ position: 1, of: 1 });
    const reader = new FakeReader(after.turns, waiting.turnId);
    await finish(after, 0);
    expect(await after.turns.get(running.turnId)).toMatchObject({ outcome: "finished" });
    await finish(after, 1);
    await reader.done;
    expect(prompts(after)).toBe(2);
  });
});

test("a limit that is raised lets in those that wait, and one that is lowered stops nothing that runs", async () => {
  let most = 1;
  const fake = limited({ mostTurns: () => most });
  for (let turn = 0; turn < 4; turn++) await fake.come();
  expect(prompts(fake)).toBe(1);
  most = 3;
  await fake.clock.advance(1_000);
  expect(prompts(fake)).toBe(3);
  most = 1;
  await finish(fake, 0);
  await finish(fake, 1);
  expect(prompts(fake)).toBe(3);
  await finish(fake, 2);
  expect(prompts(fake)).toBe(4);
});

test("a limit that goes by itself is noticed while turns wait", async () => {
  let most: number | undefined = 1;
  const fake = limited({ mostTurns: () => most });
  for (let turn = 0; turn < 3; turn++) await fake.come();
  expect(prompts(fake)).toBe(1);
  most = undefined;
  await fake.clock.advance(1_000);
  expect(prompts(fake)).toBe(3);
});

test("each pass over the waiting turns reads the limits once", async () => {
  let reads = 0;
  const fake = limited({ mostTurns: () => (reads++, 1) });
  for (let turn = 0; turn < 8; turn++) await fake.come();
  reads = 0;
  await finish(fake, 0);
  expect(reads).toBe(1);
});

describe("while it is paused", () => {
  test("waiting turns keep waiting, running turns continue, and all end well after it", async () => {
    let isPaused = false;
    const fake = limited({ mostTurns: () => 1, isPaused: () => isPaused });
    const running = await fake.come();
    const waiting = await fake.come();
    isPaused = true;
    fake.backend.last.text("still here");
    await finish(fake, 0);
    await running.reader.done;
    expect(running.reader.text).toBe("still here");
    await fake.clock.advance(60_000);
    expect(prompts(fake)).toBe(1);
    expect(fake.turns.placeInQueue(waiting.turnId)).toEqual({ position: 1, of: 1 });
    isPaused = false;
    await fake.clock.advance(1_000);
    expect(prompts(fake)).toBe(2);
  });
});

test("two turns that come at the same moment do not share a place", async () => {
  const fake = limited({ mostTurns: () => 1 });
  const asked = [1, 2, 3].map((n) => fake.turns.start(asking({ fingerprint: `b-${n}` }), never));
  await fake.clock.advance(250);
  const turnIds: TurnId[] = (await Promise.all(asked)).map(({ turnId }) => turnId);
  expect(prompts(fake)).toBe(1);
  expect(turnIds.map((turnId) => fake.turns.placeInQueue(turnId)?.position ?? 0).toSorted((a, b) => a - b)).toEqual([
    0, 1, 2,
  ]);
});

test("a turn that got its place leaves nothing on the signal of its client", async () => {
  const queue = new TurnQueue({ clock: new FakeClock(), mostTurns: () => 1, isWanted: () => true });
  const turnOf = (turnId: string) => ({ turnId: turnId as TurnId, modelUid: "m", graceMs: 0 });
  const leave = await queue.enter(turnOf("turn_1"), "new", never);
  const { signal } = new AbortController();
  const second = queue.enter(turnOf("turn_2"), "new", signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  leave();
  await second;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
