import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Pace, type PaceVerdict, paceOf } from "./pace.ts";
import { snapshotOf } from "./snapshot.fake.ts";

const hour = 3_600_000;
const week = 7 * 24 * hour;
const start = Date.parse("2026-02-20T00:00:00Z");
const end = start + week;

function paceAt(usedFraction: number | undefined, readAtMs: number, nowMs = readAtMs): Pace | undefined {
  return paceOf([snapshotOf({ readAtMs, usedFraction, resetsAtMs: end, windowSeconds: week / 1000 })], nowMs)[0];
}

describe("the pace of a window", () => {
  it.each<[string, number, PaceVerdict]>([
    ["well under the even pace", 0.2, "ahead"],
    ["on a line that leaves exactly a tenth", 0.45, "ahead"],
    ["just under the even pace", 0.49, "tight"],
    ["over the even pace", 0.6, "runs_out"],
    ["used up", 1, "exhausted"],
  ])("%s at half time", (_, used, verdict) => {
    expect(paceAt(used, start + week / 2)?.verdict).toBe(verdict);
  });

  it("has a verdict from the first twentieth of the window on", () => {
    const verdicts = [0.0499, 0.05].map((share) => paceAt(0.01, start + week * share)?.verdict);
    expect(verdicts).toEqual(["too_early", "ahead"]);
  });

  it("says when it runs out: three quarters used at half time lasts two thirds of the window", () => {
    const pace = paceAt(0.75, start + week / 2);
    expect(pace?.projectedFraction).toBeCloseTo(1.5);
    expect(pace?.runsOutAtMs).toBeCloseTo(start + (week * 2) / 3, -1);
  });

  it("is measured at the reading, while the even-pace tick moves on", () => {
    const pace = paceAt(0.4, start + week / 2, start + week * 0.75);
    expect(pace?.projectedFraction).toBeCloseTo(0.8);
    expect(pace?.elapsedFraction).toBeCloseTo(0.75);
  });

  it.each([
    ["in the first twentieth of the window", paceAt(0.01, start + week * 0.04), "just_started"],
    ["when nothing is known of its use", paceAt(undefined, start + week / 2), "unknown"],
    ["once its reset has passed", paceAt(0.9, end - hour, end + hour), "window_over"],
    [
      "without a reset",
      paceOf([snapshotOf({ readAtMs: start, usedFraction: 0.5, resetsAtMs: undefined })], start)[0],
      "no_reset",
    ],
    [
      "without a start and without history",
      paceOf([snapshotOf({ readAtMs: start, usedFraction: 0.5, resetsAtMs: end })], start)[0],
      "no_history",
    ],
  ])("is too early to say %s", (_, pace, why) => {
    expect(pace).toMatchObject({ verdict: "too_early", why, projectedFraction: undefined });
  });

  it("says exhausted at once, however early", () => {
    expect(paceAt(1, start + hour)?.verdict).toBe("exhausted");
  });

  it("is measured between readings of one cycle where the start is not known", () => {
    const at = (readAtMs: number, usedFraction: number, resetsAtMs = end) =>
      snapshotOf({ readAtMs, usedFraction, resetsAtMs });
    const [now] = [start + 40 * hour];
    const readings = [at(start, 0.9, start + hour), at(start + 20 * hour, 0.1), at(now, 0.2)];
    // A tenth in 20 hours, with 128 hours to go: 0.2 + 0.64.
    expect(paceOf(readings, now)[0]).toMatchObject({ verdict: "ahead", projectedFraction: expect.closeTo(0.84) });
  });

  it("needs an hour between the readings, and no more", () => {
    const at = (readAtMs: number, usedFraction: number) => snapshotOf({ readAtMs, usedFraction, resetsAtMs: end });
    const after = (ms: number) => paceOf([at(start, 0.1), at(start + ms, 0.11)], start + ms)[0];
    expect(after(hour - 1)).toMatchObject({ verdict: "too_early", why: "no_history" });
    expect(after(hour)?.why).toBeUndefined();
  });

  it("starts again from the last fall when a limit was filled up inside its cycle", () => {
    const at = (readAtMs: number, usedFraction: number) => snapshotOf({ readAtMs, usedFraction, resetsAtMs: end });
    const readings = [
      at(start, 0.1),
      at(start + 10 * hour, 0.8),
      at(start + 20 * hour, 0),
      at(start + 30 * hour, 0.05),
    ];
    expect(paceOf(readings, start + 30 * hour)[0]?.projectedFraction).toBeCloseTo(0.05 + 0.005 * 138);
  });

  it("is left out for balances and unlimited windows", () => {
    const [metered] = snapshotOf({ readAtMs: start, usedFraction: 0.5, resetsAtMs: end }).windows;
    if (metered === undefined) throw new Error("the fake has a window");
    const windows = [
      { ...metered, kind: "balance" as const },
      { ...metered, state: "unlimited" as const },
    ];
    expect(paceOf([snapshotOf({ readAtMs: start, usedFraction: 0, resetsAtMs: end, windows })], start)).toEqual([]);
  });

  it("does not change with a clock change: a day of 23 or 25 hours moves nothing but the start", () => {
    // Berlin, 29 March 2026 has 23 hours. The window began 24 h before its reset by our reckoning.
    const resetsAtMs = Date.parse("2026-03-29T22:00:00Z");
    const noon = Date.parse("2026-03-29T10:00:00Z");
    const snapshot = snapshotOf({ readAtMs: noon, usedFraction: 0.3, resetsAtMs, windowSeconds: 86_400 });
    expect(paceOf([snapshot], noon)[0]).toMatchObject({ verdict: "ahead", elapsedFraction: 0.5 });
  });
});

describe("the pace of any snapshots", () => {
  const fraction = fc.double({ min: 0, max: 1, noNaN: true });
  const instant = fc.integer({ min: start - week, max: end + week });
  const snapshot = fc.record({
    readAtMs: instant,
    usedFraction: fc.option(fraction, { nil: undefined }),
    resetsAtMs: fc.option(instant, { nil: undefined }),
    windowSeconds: fc.option(fc.integer({ min: 1, max: 60 * 86_400 }), { nil: undefined }),
  });
  const order: Readonly<Record<PaceVerdict, number>> = { too_early: -1, ahead: 0, tight: 1, runs_out: 2, exhausted: 3 };

  it("has no negative, infinite or impossible number, for any clock and data", () => {
    fc.assert(
      fc.property(fc.array(snapshot, { maxLength: 8 }), instant, (given, now) => {
        const impossible = paceOf(given.map(snapshotOf), now).filter((pace) => {
          const { usedFraction: used = 0, elapsedFraction: elapsed = 0, projectedFraction: projected } = pace;
          const lasts = pace.verdict === "ahead" || pace.verdict === "tight";
          return !(
            used >= 0 &&
            used <= 1 &&
            elapsed >= 0 &&
            elapsed <= 1 &&
            (projected === undefined || (Number.isFinite(projected) && projected >= used)) &&
            (!lasts || (projected !== undefined && projected <= 1)) &&
            (pace.runsOutAtMs !== undefined) === (pace.verdict === "runs_out") &&
            (pace.why !== undefined) === (pace.verdict === "too_early")
          );
        });
        expect(impossible).toEqual([]);
      }),
    );
  });

  it("never gets better by using more", () => {
    fc.assert(
      fc.property(fraction, fraction, instant, instant, (a, b, readAtMs, now) => {
        const [less, more] = [paceAt(Math.min(a, b), readAtMs, now), paceAt(Math.max(a, b), readAtMs, now)];
        if (less === undefined || more === undefined) throw new Error("a metered window has a pace");
        fc.pre(less.verdict !== "too_early" && more.verdict !== "too_early");
        expect(order[more.verdict]).toBeGreaterThanOrEqual(order[less.verdict]);
        fc.pre(more.verdict !== "exhausted");
        expect(more.projectedFraction ?? 0).toBeGreaterThanOrEqual(less.projectedFraction ?? 0);
        expect(more.runsOutAtMs ?? Infinity).toBeLessThanOrEqual(less.runsOutAtMs ?? Infinity);
      }),
    );
  });

  it("runs out after the reading and before the reset, and says nothing of a window that is over", () => {
    fc.assert(
      fc.property(fraction, instant, instant, (used, readAtMs, now) => {
        const pace = paceAt(used, readAtMs, now);
        expect(pace?.why === "window_over").toBe(now >= end);
        const at = pace?.runsOutAtMs ?? end;
        expect(at).toBeGreaterThanOrEqual(Math.min(readAtMs, now, end));
        expect(at).toBeLessThanOrEqual(end);
      }),
    );
  });

  it("says nothing of an earlier cycle: what was used before a reset, or on another plan, changes nothing", () => {
    const earlier = fc.array(fc.record({ usedFraction: fraction, readAtMs: instant }), { maxLength: 4 });
    fc.assert(
      fc.property(fraction, instant, instant, fc.boolean(), earlier, (used, readAtMs, now, knowsStart, before) => {
        const windowSeconds = knowsStart ? week / 1000 : undefined;
        const newest = snapshotOf({ readAtMs, usedFraction: used, resetsAtMs: end, windowSeconds });
        const ofOtherCycles = before.map((one, index) =>
          snapshotOf({
            ...one,
            readAtMs: readAtMs - 1 - index,
            resetsAtMs: index % 2 === 0 ? end - week : end + hour,
            windowSeconds,
          }),
        );
        expect(paceOf([...ofOtherCycles, newest], now)).toEqual(paceOf([newest], now));
      }),
    );
  });

  it("is the same at every place in time: zones, their changes and leap days move nothing", () => {
    const days = fc.integer({ min: -4000, max: 4000 });
    const hours = fc.constantFrom(-1, 0, 1, 23, 25);
    fc.assert(
      fc.property(fc.array(snapshot, { maxLength: 5 }), instant, days, hours, (given, now, d, h) => {
        const by = (d * 24 + h) * hour;
        const moved = given.map((one) => ({
          ...one,
          readAtMs: one.readAtMs + by,
          resetsAtMs: one.resetsAtMs === undefined ? undefined : one.resetsAtMs + by,
        }));
        const expected = paceOf(given.map(snapshotOf), now).map(({ runsOutAtMs, ...pace }) => ({
          ...pace,
          runsOutAtMs: runsOutAtMs === undefined ? undefined : runsOutAtMs + by,
        }));
        const there = paceOf(moved.map(snapshotOf), now + by);
        // Instants are large numbers of ms: what comes out may differ in the last of their bits.
        const rounded = (paces: readonly Pace[]) =>
          paces.map((pace) => ({ ...pace, runsOutAtMs: pace.runsOutAtMs && Math.round(pace.runsOutAtMs) }));
        expect(rounded(there)).toEqual(rounded(expected));
      }),
    );
  });

  it("takes a reading from the future, after the clock went back, as read now", () => {
    fc.assert(
      fc.property(fraction, instant, fc.nat({ max: week }), (used, now, aheadMs) => {
        expect(paceAt(used, now + aheadMs, now)).toEqual(paceAt(used, now, now));
      }),
    );
  });

  it("needs no reading that told nothing: a gap in the data changes nothing", () => {
    const reading = fc.record({ usedFraction: fraction, readAtMs: instant });
    fc.assert(
      fc.property(
        fc.uniqueArray(reading, { minLength: 1, maxLength: 5, selector: (r) => r.readAtMs }),
        instant,
        (readings, now) => {
          const ordered = readings.toSorted((a, b) => a.readAtMs - b.readAtMs);
          const told = ordered.map((one) => snapshotOf({ ...one, resetsAtMs: end, windowSeconds: week / 1000 }));
          const first = Math.min(...readings.map(({ readAtMs }) => readAtMs));
          const silent = snapshotOf({ readAtMs: first - 1, usedFraction: undefined, resetsAtMs: end });
          const other = snapshotOf({ readAtMs: first - 2, usedFraction: 0.5, resetsAtMs: end, windows: [] });
          expect(paceOf([other, silent, ...told], now)).toEqual(paceOf(told, now));
        },
      ),
    );
  });
});
