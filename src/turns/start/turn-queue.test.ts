import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { ModelUid, TurnId } from "../../base/ids.ts";
import { idle, until } from "../../base/wait.fake.ts";
import { openMemoryLog } from "../../log/memory/open-memory-log.ts";
import type { LogStore } from "../../log/store.ts";
import { asking, bound, FakeReader, type FakeTurns, fakeTurns } from "../turns.fake.ts";
import type { StartTurn, Turns } from "../turns.ts";
import type { TurnLimits } from "./turn-queue.ts";

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
  const come = async (part: Partial<StartTurn> = {}) => {
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

  test("a caller with many turns does not hold up the others", async () => {
    const fake = limited({ mostTurns: () => 1 });
    await fake.come({ caller: "busy" });
    const busy = [await fake.come({ caller: "busy" }), await fake.come({ caller: "busy" })];
    const other = await fake.come({ caller: "other" });
    expect(fake.turns.placeInQueue(other.turnId)).toEqual({ position: 1, of: 3 });
    expect(busy.map(({ turnId }) => fake.turns.placeInQueue(turnId)?.position)).toEqual([2, 3]);
    await finish(fake, 0);
    expect(fake.turns.placeInQueue(other.turnId)).toBeUndefined();
  });

  test("a key with a limit of its own waits alone", async () => {
    const fake = limited({ mostOf: (caller) => (caller === "ci" ? 1 : undefined) });
    await fake.come({ caller: "ci" });
    const second = await fake.come({ caller: "ci" });
    await fake.come({ caller: "ada" });
    expect(prompts(fake)).toBe(2);
    expect(fake.turns.placeInQueue(second.turnId)).toEqual({ position: 1, of: 1 });
    await finish(fake, 0);
    expect(prompts(fake)).toBe(3);
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
    const survives = { ...bound(store), capabilities: { survivesRestart: true, sharedBetweenProcesses: false } };
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

test("a limit that is raised lets in at once those that wait, and one that is lowered stops nothing that runs", async () => {
  let [most, changed] = [1, () => {}];
  const fake = limited({ mostTurns: () => most, onChanged: (listener) => (changed = listener) });
  for (let turn = 0; turn < 4; turn++) await fake.come();
  expect(prompts(fake)).toBe(1);
  most = 3;
  changed();
  await until(() => prompts(fake) === 3);
  expect(prompts(fake)).toBe(3);
  most = 1;
  changed();
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

test("each pass over the waiting turns reads the limits once, and those of a key once", async () => {
  const reads: string[] = [];
  const fake = limited({
    mostTurns: () => (reads.push("all"), 1),
    mostOf: (caller) => (reads.push(caller), undefined),
  });
  for (let turn = 0; turn < 8; turn++) await fake.come({ caller: turn % 2 === 0 ? "ci" : "ada" });
  reads.length = 0;
  await finish(fake, 0);
  expect(reads.toSorted()).toEqual(["ada", "all", "ci"]);
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

describe("while the event loop is late", () => {
  test("turns that run get on, and new ones begin one by one, as far apart as it is late", async () => {
    let lagMs = 0;
    const fake = limited({ lagMs: () => lagMs });
    await fake.come();
    await fake.come();
    expect(prompts(fake)).toBe(2);
    lagMs = 2_000;
    const third = await fake.come();
    const fourth = await fake.come();
    expect(prompts(fake)).toBe(2);
    expect(fake.turns.load()).toEqual({ running: 2, waiting: 2 });
    expect(fake.turns.placeInQueue(fourth.turnId)).toEqual({ position: 2, of: 2 });
    await finish(fake, 0); // a free place is no reason to hurry
    expect(prompts(fake)).toBe(2);
    await fake.clock.advance(2_000);
    await idle();
    expect(fake.turns.placeInQueue(third.turnId)).toBeUndefined();
    expect(fake.turns.load()).toEqual({ running: 2, waiting: 1 });
    await fake.clock.advance(2_000);
    await idle();
    expect(prompts(fake)).toBe(4);
  });

  test("the turns that waited begin in groups once it is in time again", async () => {
    let lagMs = 0;
    const fake = limited({ lagMs: () => lagMs });
    await fake.come();
    lagMs = 10_000;
    for (let i = 0; i < 20; i++) await fake.come();
    expect(fake.turns.load()).toEqual({ running: 1, waiting: 20 });
    lagMs = 0;
    await fake.clock.advance(5_000);
    await idle();
    expect(fake.turns.load()).toEqual({ running: 17, waiting: 4 });
    await fake.clock.advance(50);
    await idle();
    expect(fake.turns.load()).toEqual({ running: 21, waiting: 0 });
    await fake.come();
    expect(prompts(fake)).toBe(22);
  });

  test("a turn alone begins at once", async () => {
    const fake = limited({ lagMs: () => 60_000 });
    await fake.come();
    expect(prompts(fake)).toBe(1);
  });
});
