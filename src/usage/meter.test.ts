import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { encodeLimits, encodeUsage, limitsSchema, usageSchema } from "./envelope.ts";
import { turnFake } from "./history/history.fake.ts";
import type { UsageHistory } from "./history/history.ts";
import { openHistory } from "./history/sqlite-history.ts";
import { type Meter, openMeter } from "./meter.ts";
import type { PlanAnswer } from "./plan-answer.ts";
import { fixture, windsurfFixture } from "./snapshot.fake.ts";

const minute = 60_000;
const idle = new AbortController().signal;
const windsurf = (name = "quota"): PlanAnswer => ({
  type: "windsurf",
  ide: "windsurf",
  build: "2.3.15",
  userStatus: windsurfFixture(name),
});
const antigravity: PlanAnswer = {
  type: "antigravity",
  ide: "antigravity",
  build: "1.14.2",
  userStatus: fixture("fractions"),
  quotaSummary: undefined,
};

let clock: FakeClock;
let history: UsageHistory;
let reads: number;
let answer: () => Promise<readonly PlanAnswer[]>;
let meter: Meter;

beforeEach(() => {
  clock = new FakeClock(Date.parse("2026-02-24T12:00:00Z"));
  history = openHistory({ file: ":memory:" });
  reads = 0;
  answer = () => Promise.resolve([antigravity, windsurf()]);
  meter = open();
});

afterEach(() => history.close());

function open(): Meter {
  const readPlan = () => {
    reads++;
    return answer();
  };
  return openMeter({ readPlan, history, clock });
}

const shown = async (wait = true) =>
  (await meter.limits({ wait }, idle)).readings.map(({ snapshot, stale }) => [snapshot.ide, stale]);

describe("the meter's limits", () => {
  it("are read at the first question, Windsurf first, and not again while they are fresh", async () => {
    expect(await shown()).toEqual([
      ["windsurf", false],
      ["antigravity", false],
    ]);
    await clock.advance(4 * minute);
    await shown();
    expect(reads).toBe(1);
  });

  it("of a stand-in are named so, never enter the history, and give way to the user's own plan", async () => {
    await meter.limits({ wait: true }, idle);
    const before = history.snapshots({ sinceMs: 0, untilMs: clock.now() + 1 }).length;
    await clock.advance(10 * minute);
    answer = () => Promise.resolve([{ ...windsurf(), standIn: true } as PlanAnswer]);
    const standIn = async () =>
      (await meter.limits({ wait: true }, idle)).readings.map(({ snapshot }) => snapshot.standIn);
    expect(await standIn()).toEqual([true, undefined]);
    expect(history.snapshots({ sinceMs: 0, untilMs: clock.now() + 1 })).toHaveLength(before);
    await clock.advance(minute / 2);
    answer = () => Promise.resolve([]);
    expect(await standIn()).toEqual([undefined, undefined]);
  });

  describe("of a plan that the app saved", () => {
    const saved = (lastStartMs: number, percent = 30): PlanAnswer => ({
      type: "saved",
      ide: "windsurf",
      build: "3.10.48",
      rows: {
        lastStartMs,
        accountRows: [
          JSON.stringify({ weeklyRemainingPercent: percent, weeklyResetAtUnix: clock.now() / 1000 + 86_400 }),
        ],
        oldRow: undefined,
        userStatus: undefined,
      },
    });

    it("say so, with the time of the app's last start, and stay out of the history", async () => {
      const startedMs = clock.now() - 60 * minute;
      answer = () => Promise.resolve([saved(startedMs)]);
      const limits = encodeLimits(await meter.limits({ wait: true }, idle));
      expect(limitsSchema.parse(limits)).toMatchObject({
        data: [
          {
            source: "saved_plan",
            product: "Devin Desktop 3.10 (formerly Windsurf)",
            fetched_at: new Date(startedMs).toISOString(),
            stale: true,
            windows: [{ id: "weekly", remaining: 30 }],
          },
        ],
        errors: [],
      });
      expect(history.latestSnapshots(0)).toEqual([]);
    });

    it("never take the place of a newer reading of the server", async () => {
      const startedMs = clock.now() - 60 * minute;
      await meter.limits({ wait: true }, idle);
      await clock.advance(6 * minute);
      answer = () => Promise.resolve([saved(startedMs)]);
      const { readings } = await meter.limits({ wait: true }, idle);
      expect(readings.find(({ snapshot }) => snapshot.ide === "windsurf")).toMatchObject({
        stale: true,
        snapshot: { source: "language_server" },
      });
    });

    it("that is too old are an error only if nothing else has the plan", async () => {
      const old = clock.now() - 48 * 60 * minute;
      answer = () => Promise.resolve([saved(old)]);
      expect((await meter.limits({ wait: true }, idle)).errors).toMatchObject([
        { ide: "windsurf", error: { message: expect.stringContaining("2 d ago, at its last start") } },
      ]);
      await clock.advance(minute);
      answer = () => Promise.resolve([saved(old), windsurf()]);
      expect((await meter.limits({ wait: true }, idle)).errors).toEqual([]);
    });
  });

  it("are read once for all who ask at the same time", async () => {
    await Promise.all([shown(), shown(), shown()]);
    expect(reads).toBe(1);
  });

  it("are answered at once to who does not wait, also before the first reading", async () => {
    let release = () => {};
    answer = () => new Promise((resolve) => (release = () => resolve([windsurf()])));
    expect(await shown(false)).toEqual([]);
    release();
    await clock.advance(0);
    expect(await shown(false)).toEqual([["windsurf", false]]);
    expect(reads).toBe(1);
  });

  it("are stale after five minutes, and then read again", async () => {
    await shown();
    await clock.advance(5 * minute);
    answer = () => Promise.reject(new MillraceError("ide_not_running", "none"));
    const limits = await meter.limits({ wait: true }, idle);
    expect(limits.readings.map(({ stale }) => stale)).toEqual([true, true]);
    expect(limits.errors).toMatchObject([{ ide: undefined, error: { code: "ide_not_running" } }]);
    expect(reads).toBe(2);
  });

  it("are stale once a turn ended: who waits gets a new reading, though not twice in ten seconds", async () => {
    await shown();
    meter.recordTurns([turnFake({ turnId: "turn_1", endedAtMs: clock.now() })]);
    expect(await shown(false)).toContainEqual(["windsurf", true]);
    expect(await shown()).toContainEqual(["windsurf", true]);
    expect(reads).toBe(1);
    await clock.advance(10_000);
    expect(await shown()).toContainEqual(["windsurf", false]);
    meter.recordTurns([turnFake({ turnId: "turn_1", endedAtMs: clock.now() })]);
    expect(await shown()).toContainEqual(["windsurf", false]);
    expect(reads).toBe(2);
  });

  it("of an IDE that failed stay beside the error of its reading, as stale", async () => {
    await shown();
    await clock.advance(5 * minute);
    const failed = new MillraceError("upstream_timeout", "no answer");
    answer = () => Promise.resolve([{ type: "failed", ide: "windsurf", error: failed }, antigravity]);
    expect(await shown()).toEqual([
      ["windsurf", true],
      ["antigravity", false],
    ]);
    expect((await meter.limits({ wait: false }, idle)).errors).toMatchObject([{ ide: "windsurf" }]);
  });

  it("that cannot be understood are an error, not a crash", async () => {
    answer = () => Promise.resolve([{ ...antigravity, quotaSummary: { groups: "all" } } as PlanAnswer]);
    const limits = await meter.limits({ wait: true }, idle);
    expect(limits).toMatchObject({
      readings: [],
      errors: [{ ide: "antigravity", error: { code: "upstream_failed" } }],
    });
  });

  it("survive a restart for a day, as stale", async () => {
    await shown();
    await clock.advance(60 * minute);
    answer = () => Promise.resolve([]);
    meter = open();
    expect(await shown()).toEqual([
      ["windsurf", true],
      ["antigravity", true],
    ]);
    await clock.advance(24 * 60 * minute);
    expect(await shown()).toEqual([]);
  });

  it("stop waiting when the asker goes away", async () => {
    answer = () => new Promise(() => {});
    const gone = new AbortController();
    const asked = meter.limits({ wait: true }, gone.signal);
    gone.abort(new Error("gone"));
    await expect(asked).rejects.toThrow("gone");
  });

  it("flow on when the history cannot be written, and say so", async () => {
    history.close();
    const broken: UsageHistory = {
      ...history,
      latestSnapshots: () => [],
      addSnapshot: () => {
        throw new MillraceError("degraded", "disk full");
      },
    };
    meter = openMeter({ readPlan: () => answer(), history: broken, clock });
    expect(await meter.limits({ wait: true }, idle)).toMatchObject({
      readings: [{ stale: false }, { stale: false }],
      errors: [{ ide: undefined, error: { code: "degraded" } }],
    });
    history = openHistory({ file: ":memory:" });
  });
});

describe("the meter in the background", () => {
  it("reads every five minutes, and only while something asked in the last hour", async () => {
    const stop = new AbortController();
    const running = meter.run(stop.signal);
    await clock.advance(20 * minute);
    expect(reads).toBe(0);
    await shown();
    for (let i = 0; i < 24; i++) await clock.advance(5 * minute);
    expect(reads).toBeGreaterThanOrEqual(12);
    expect(reads).toBeLessThanOrEqual(14);
    stop.abort();
    await running;
  });
});

describe("the meter's history", () => {
  it("counts an ended turn for the IDE that pays, and holds the plan's loss against it", async () => {
    answer = () => Promise.resolve([windsurf("credits-fresh")]);
    await shown();
    const at = clock.now();
    meter.recordTurns([turnFake({ turnId: "turn_1", endedAtMs: at + 1000, creditsHundredths: 2350 })]);
    await clock.advance(minute);
    answer = () => Promise.resolve([windsurf("credits")]);
    await shown();
    expect(history.turn("turn_1")).toMatchObject({ ide: "windsurf" });
    const query = { sinceMs: at - minute, untilMs: clock.now() + 1, by: "project", timeZone: "UTC" } as const;
    expect(await meter.ask("usage", query)).toMatchObject({
      rows: [{ key: "/home/ada/engine", credits: 23.5 }],
      outside: [{ windowId: "prompt-credits", lost: 123.5, explained: 23.5, outside: 100, bound: "exact" }],
    });
    const envelope = encodeUsage(await meter.ask("usage", query), (uid) => uid);
    expect(usageSchema.parse(JSON.parse(JSON.stringify(envelope)))).toEqual(envelope);
    expect(envelope).toMatchObject({
      data: [{ credits: 23.5 }],
      used_outside: [{ used_outside: 100, bound: "exact" }],
    });
  });
});

describe("the limits as JSON", () => {
  it("have stable names, ISO instants and null for what is not known", async () => {
    const envelope = encodeLimits(await meter.limits({ wait: true }, idle));
    expect(limitsSchema.parse(JSON.parse(JSON.stringify(envelope)))).toEqual(envelope);
    expect(envelope.data[0]).toMatchObject({
      object: "limits",
      ide: "devin",
      shape: "quota",
      plan_name: "Pro",
      fetched_at: "2026-02-24T12:00:00.000Z",
      expires_at: "2026-02-24T12:05:00.000Z",
      stale: false,
    });
    expect(envelope.data[0]?.windows[0]).toEqual({
      id: "daily",
      label: "Daily quota",
      kind: "consumption",
      unit: "percent",
      state: "metered",
      scope: "plan",
      used: 38,
      limit: 100,
      remaining: 62,
      utilization: 0.38,
      resets_at: "2026-02-25T00:00:00.000Z",
      window_seconds: 86_400,
      pace: { verdict: "ahead", elapsed: 0.5, used: 0.38, projected: 0.76, runs_out_at: null, reason: null },
    });
    expect(envelope.data[0]?.windows[2]).toMatchObject({ id: "overage", limit: null, pace: null });
  });
});
