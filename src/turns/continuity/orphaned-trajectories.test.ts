import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { MillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { ScriptedBackend } from "../tools/scripted-backend.fake.ts";
import { archiveOrphanedTrajectories, archiverOf, type NotedTrajectory } from "./orphaned-trajectories.ts";

const minuteMs = 60_000;
const nobodyThere = new MillraceError("ide_not_running", "No IDE runs.");
const refusal = new MillraceError("upstream_failed", "No such conversation.");

const running: { readonly stop: AbortController; readonly done: Promise<void> }[] = [];
afterEach(async () => {
  for (const { stop } of running) stop.abort();
  await Promise.all(running.splice(0).map(({ done }) => done));
});

/** Runs one check of the notes in the process `me`. Owners whose names begin with `gone` are dead. */
async function look(noted: readonly Partial<NotedTrajectory>[], openSinceMs: readonly number[] = [], kept = "none") {
  const clock = new FakeClock();
  const begun = {
    cascadeId: "c" as CascadeId,
    owner: "home/gone",
    atMs: clock.now() - 5 * minuteMs,
    untilMs: undefined,
  };
  const left = new Map(noted.map((each) => [each.cascadeId ?? begun.cascadeId, { ...begun, ...each }]));
  const world = {
    clock,
    archived: [] as string[],
    asked: 0,
    error: undefined as Error | undefined,
    open: openSinceMs.map((agoMs) => clock.now() - agoMs),
    left,
  };
  const stop = new AbortController();
  const done = archiveOrphanedTrajectories(
    {
      notes: {
        kept: () => Promise.resolve(),
        taken: () => {},
        asked: () => {},
        archived: (cascadeId) => left.delete(cascadeId),
        left: () => Promise.resolve([...left.values()]),
      },
      store: { oldestRunningMs: () => Promise.resolve(Math.min(...world.open)) },
      clock,
      owner: "home/me",
      isKept: (cascadeId) => cascadeId === kept,
      archive: async (cascadeId) => {
        world.asked++;
        if (world.error !== undefined) throw world.error;
        world.archived.push(cascadeId);
      },
    },
    stop.signal,
  );
  running.push({ stop, done });
  await clock.advance(0);
  return world;
}

describe("a trajectory that is not archived", () => {
  test("stays while this process keeps it, also where the wall clock jumped past the time of its note", async () => {
    const longAgo = { owner: "home/me", untilMs: 1 };
    expect((await look([longAgo])).archived).toEqual(["c"]);
    expect((await look([longAgo], [], "c")).archived).toEqual([]);
  });

  test("is archived where its process is gone, or is this one and its turn is over", async () => {
    expect((await look([{ owner: "home/gone" }])).archived).toEqual(["c"]);
    expect((await look([{ owner: "home/me" }])).archived).toEqual(["c"]);
  });

  test("is left to a process that lives, or that an older build did not name", async () => {
    const { clock, archived } = await look([
      { owner: "somebody else" },
      { cascadeId: "d" as CascadeId, owner: undefined },
    ]);
    await clock.advance(60 * minuteMs);
    expect(archived).toEqual([]);
  });

  test("is left to a turn that runs and may use it, until that has ended", async () => {
    const world = await look([{}], [6 * minuteMs]);
    await world.clock.advance(10 * minuteMs);
    expect(world.archived).toEqual([]);
    world.open.length = 0;
    await world.clock.advance(minuteMs);
    expect(world.archived).toEqual(["c"]);
  });

  test("is left for its first ten seconds", async () => {
    const { clock, archived } = await look([{ atMs: new FakeClock().now() }]);
    await clock.advance(9_999);
    expect(archived).toEqual([]);
    await clock.advance(1);
    expect(archived).toEqual(["c"]);
  });

  test("is left while clocks may disagree about which turn came first", async () => {
    expect((await look([{}], [5 * minuteMs - 9_000])).archived).toEqual([]);
    expect((await look([{}], [5 * minuteMs - 11_000])).archived).toEqual(["c"]);
  });

  test("and kept open is archived when its time has passed, which its own process gets some minutes to do", async () => {
    const untilMs = new FakeClock().now() + 90_000;
    for (const [owner, waitMs] of [
      ["home/gone", 90_000],
      [undefined, 90_000],
      ["home/me", 90_000 + 5 * minuteMs],
    ] as const) {
      const { clock, archived } = await look([{ owner, untilMs }], [60 * minuteMs]);
      await clock.advance(waitMs - 1);
      expect(archived).toEqual([]);
      await clock.advance(1);
      expect(archived).toEqual(["c"]);
    }
  });

  test("is looked for less and less often while no IDE runs, and archived when one does", async () => {
    const world = await look([{}]);
    world.left.set("d" as CascadeId, { cascadeId: "d" as CascadeId, owner: "home/gone", atMs: 0, untilMs: undefined });
    world.error = nobodyThere;
    await world.clock.advance(24 * 60 * minuteMs);
    expect(world.archived).toEqual(["c"]);
    expect(world.asked).toBeGreaterThan(24);
    expect(world.asked).toBeLessThan(35);
    world.error = undefined;
    await world.clock.advance(60 * minuteMs);
    expect(world.archived).toEqual(["c", "d"]);
  });

  test("is given up where its IDE refuses it again and again", async () => {
    const world = await look([]);
    world.error = refusal;
    world.left.set("c" as CascadeId, { cascadeId: "c" as CascadeId, owner: "home/gone", atMs: 0, untilMs: undefined });
    await world.clock.advance(24 * 60 * minuteMs);
    expect(world.asked).toBe(5);
    expect(world.left.size).toBe(0);
  });

  test("costs the others nothing", async () => {
    const world = await look([]);
    world.error = refusal;
    world.left.set("c" as CascadeId, { cascadeId: "c" as CascadeId, owner: "home/gone", atMs: 0, untilMs: undefined });
    await world.clock.advance(minuteMs);
    world.error = undefined;
    world.left.set("d" as CascadeId, { cascadeId: "d" as CascadeId, owner: "home/gone", atMs: 0, untilMs: undefined });
    await world.clock.advance(3 * minuteMs);
    expect(world.archived.toSorted()).toEqual(["c", "d"]);
  });
});

test("a stop leaves a prompt that waits for results, as its backend knows it, to the next gateway", async () => {
  const backend = new ScriptedBackend();
  Object.assign(backend, { waits: async (cascadeId: CascadeId) => cascadeId === "acp:devin:waits" });
  const archive = archiverOf({ choose: async () => backend, holding: async () => backend });
  const [waits, idle] = ["acp:devin:waits" as CascadeId, "acp:devin:idle" as CascadeId];
  await Promise.all([waits, idle].map((cascadeId) => archive(cascadeId, true)));
  expect(backend.archived).toEqual([idle]);
  await archive(waits); // nobody continued it in time
  expect(backend.archived).toEqual([idle, waits]);
});
