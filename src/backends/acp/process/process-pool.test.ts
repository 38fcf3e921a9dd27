import { expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { MillraceError } from "../../../base/errors.ts";
import { idle } from "../../../base/wait.fake.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import { type PoolProcess, ProcessPool } from "./process-pool.ts";

const never = new AbortController().signal;
const warmMs = 60_000;
const restartMs = 1_000;

/** A process that a test ends. */
function played(key: string) {
  const exited = Promise.withResolvers<string>();
  const child = { pid: 1, exited: exited.promise, end: async () => exited.resolve("ended") } as unknown as AgentChild; // nothing else of it is used
  const crash = () => exited.resolve("exit code 1");
  const nothing = {
    abilities: {} as PoolProcess["abilities"],
    sessions: new Map(),
    isAwaited: false,
    onIdle: () => {},
  };
  return { key, child, crash, ...nothing, runningTurns: 0, isStale: false };
}

type Options = ConstructorParameters<typeof ProcessPool<ReturnType<typeof played>>>[0];

function world(more: Partial<Options> = {}) {
  const clock = new FakeClock();
  const started: string[] = [];
  const fault = { error: undefined as MillraceError | undefined, gate: Promise.resolve() };
  const pool = new ProcessPool<ReturnType<typeof played>>({
    clock,
    warmMs,
    restartMs,
    start: async ({ key }) => {
      started.push(key);
      await fault.gate;
      if (fault.error !== undefined) throw fault.error;
      return played(key);
    },
    ...more,
  });
  const lease = (key: string, signal = never) => pool.lease({ key, args: [] }, signal);
  const use = async (key: string) => {
    await clock.advance(1);
    (await lease(key)).release();
    await idle();
  };
  const keys = () => pool.processes.map(({ key }) => key);
  return { clock, pool, started, fault, lease, use, keys };
}

test("four processes live at once; for a fifth the one that was unused for the longest ends", async () => {
  const { use, keys, started } = world();
  for (const key of ["a", "b", "c", "d", "a"]) await use(key);
  expect(keys()).toEqual(["a", "b", "c", "d"]);
  await use("e");
  expect(keys().toSorted()).toEqual(["a", "c", "d", "e"]);
  expect(started).toEqual(["a", "b", "c", "d", "e"]);
});

test("a process that is used makes no room: the next one waits for its release, or for its end", async () => {
  const { lease, keys, pool } = world();
  const leases = await Promise.all(["a", "b", "c", "d"].map((key) => lease(key)));
  let isThere = false;
  const fifth = lease("e").then((given) => ((isThere = true), given));
  await idle();
  expect([isThere, keys().length]).toEqual([false, 4]);
  leases[1]?.release();
  await fifth;
  expect(keys().toSorted()).toEqual(["a", "c", "d", "e"]);
  const sixth = lease("f");
  await idle();
  leases[0]?.process.crash();
  await sixth;
  expect(keys().toSorted()).toEqual(["c", "d", "e", "f"]);
  await pool.close();
  expect(keys()).toEqual([]);
});

test("a lease is given back once, however often it is released, and one whose caller left is none", async () => {
  const { lease, clock, keys, fault } = world();
  const gate = Promise.withResolvers<void>();
  fault.gate = gate.promise;
  const left = new AbortController();
  const waiting = lease("a", left.signal);
  await idle();
  left.abort();
  await expect(waiting).rejects.toBeDefined();
  gate.resolve();
  const [one, other] = await Promise.all([lease("a"), lease("a")]);
  one.release();
  one.release();
  await clock.advance(warmMs);
  expect(keys()).toEqual(["a"]);
  other.release();
  await clock.advance(warmMs - 1);
  expect(keys()).toEqual(["a"]);
  await clock.advance(1);
  expect(keys()).toEqual([]);
});

test("a process is kept warm from its last use on, and also while a prompt runs in it", async () => {
  const { lease, clock, keys } = world();
  (await lease("a")).release();
  await clock.advance(warmMs - 1);
  const held = await lease("a");
  await clock.advance(warmMs);
  expect(keys()).toEqual(["a"]);
  held.process.runningTurns = 1;
  held.release();
  await clock.advance(warmMs);
  expect(keys()).toEqual(["a"]);
  held.process.runningTurns = 0;
  held.process.onIdle();
  await clock.advance(warmMs);
  expect(keys()).toEqual([]);
});

test.each([
  ["none that cannot be had", async () => ({ left: [], isBusy: false }), undefined],
  ["one that cannot be had now", async () => ({ left: [], isBusy: true }), "busy"],
  ["nobody knows what, for the look failed", async () => Promise.reject(new Error("no")), "busy"],
] as const)(
  "a session that no process here has may be in one that the gateway before left: %s",
  async (_, takeOver, held) => {
    const { pool } = world({ takeOver });
    expect(await pool.leaseHolding("s")).toBe(held);
  },
);

test("one that has to make room ends at its last release, which is no crash", async () => {
  const { lease, keys, pool } = world();
  const held = await lease("a");
  held.process.isStale = true;
  expect(keys()).toEqual(["a"]);
  held.release();
  await idle();
  expect([keys(), pool.crashes]).toEqual([[], 0]);
});

test("after a failed start the next one waits, twice as long each time; a long wait is refused with the failure, and a prompt that works ends it", async () => {
  const { lease, clock, fault, started, pool } = world();
  fault.error = new MillraceError("upstream_failed", "It does not start.");
  await expect(lease("a")).rejects.toThrow("It does not start.");
  for (const waitMs of [restartMs, 2 * restartMs, 4 * restartMs]) {
    const before = started.length;
    const next = lease("a").catch((error: unknown) => error);
    await clock.advance(waitMs - 1);
    expect(started.length).toBe(before);
    await clock.advance(1);
    expect(await next).toBe(fault.error);
  }
  await expect(lease("a")).rejects.toMatchObject({
    message: "It does not start.",
    retryAfterMs: 8 * restartMs,
    repeated: true,
  });
  await clock.advance(3 * restartMs);
  fault.error = undefined;
  const due = lease("a"); // a pause of five seconds is waited for
  await clock.advance(5 * restartMs);
  const { process } = await due;
  pool.worked("a");
  process.crash();
  await idle();
  expect(pool.crashes).toBe(1);
  const again = lease("a");
  await clock.advance(restartMs);
  await again;
});
