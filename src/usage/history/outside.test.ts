import { describe, expect, it } from "vitest";
import type { LimitsSnapshot, LimitWindow } from "../limits.ts";
import { snapshotOf } from "../snapshot.fake.ts";
import { outsideUse } from "./outside.ts";

const end = 1_000_000_000;

function credits(readAtMs: number, used: number | undefined, resetsAtMs = end): LimitsSnapshot {
  const window: LimitWindow = {
    id: "prompt-credits",
    label: "Prompt credits",
    kind: "consumption",
    unit: "credits",
    scope: "plan",
    state: used === undefined ? "unknown" : "metered",
    used,
    limit: 500,
    remaining: 0,
    utilization: 0,
    resetsAtMs,
    windowSeconds: undefined,
  };
  return snapshotOf({ readAtMs, usedFraction: 0, resetsAtMs, windows: [window] });
}

const cost =
  (turns: number, creditsHundredths: number, unknownTurns = 0) =>
  () => ({ turns, creditsHundredths, unknownTurns });

describe("what was used outside Millrace", () => {
  it("is what the plan lost less what turns cost", () => {
    expect(outsideUse([credits(1, 10), credits(2, 12), credits(9, 30)], "prompt-credits", cost(3, 700))).toEqual({
      ide: "windsurf",
      windowId: "prompt-credits",
      unit: "credits",
      fromMs: 1,
      toMs: 9,
      lost: 20,
      explained: 7,
      outside: 13,
      bound: "exact",
    });
  });

  it("is never less than nothing", () => {
    expect(outsideUse([credits(1, 10), credits(2, 11)], "prompt-credits", cost(1, 500))).toMatchObject({
      lost: 1,
      outside: 0,
    });
  });

  it("is at most the rest when the cost of some turns is unknown", () => {
    const result = outsideUse([credits(1, 10), credits(9, 30)], "prompt-credits", cost(3, 700, 1));
    expect(result).toMatchObject({ outside: 13, bound: "at_most" });
  });

  it("is at least the rest when the plan was reset in between, whether its use fell or not", () => {
    const fell = [credits(1, 100), credits(5, 4, end * 2), credits(9, 6, end * 2)];
    expect(outsideUse(fell, "prompt-credits", cost(0, 0))).toMatchObject({ lost: 6, outside: 6, bound: "at_least" });
    const rose = [credits(1, 3), credits(5, 4, end * 2)];
    expect(outsideUse(rose, "prompt-credits", cost(0, 0))).toMatchObject({ lost: 4, bound: "at_least" });
    expect(outsideUse(fell, "prompt-credits", cost(2, 100, 1))).toMatchObject({ outside: undefined, bound: "unknown" });
  });

  it.each([
    ["readings that go down and up by a rounding", [40, 39, 40, 39, 40], 0],
    ["a refund that is used again", [40, 30, 40, 41], 1],
    ["a fall to nothing under the same reset", [40, 0, 2], 0],
  ])("counts %s once", (_, readings, lost) => {
    const told = readings.map((used, at) => credits(at, used));
    expect(outsideUse(told, "prompt-credits", cost(0, 0))).toMatchObject({ lost, outside: lost, bound: "exact" });
  });

  it("sees a new cycle without a time of reset only where the use falls to less than half", () => {
    const told = (readings: readonly number[]) =>
      readings.map((used, at) => {
        const reading = credits(at, used);
        return { ...reading, windows: reading.windows.map((window) => ({ ...window, resetsAtMs: undefined })) };
      });
    expect(outsideUse(told([40, 39, 40]), "prompt-credits", cost(0, 0))).toMatchObject({ lost: 0, bound: "exact" });
    expect(outsideUse(told([40, 4, 6]), "prompt-credits", cost(0, 0))).toMatchObject({ lost: 6, bound: "at_least" });
  });

  it("is unknown for a percentage, unless no turn ran", () => {
    const readings = [0.1, 0.3].map((usedFraction, i) => snapshotOf({ readAtMs: i, usedFraction, resetsAtMs: end }));
    expect(outsideUse(readings, "weekly", cost(2, 200))).toMatchObject({
      lost: 20,
      outside: undefined,
      bound: "unknown",
    });
    expect(outsideUse(readings, "weekly", cost(0, 0))).toMatchObject({ lost: 20, outside: 20, bound: "exact" });
  });

  it("needs two readings of the window", () => {
    expect(outsideUse([credits(1, 10), credits(2, undefined)], "prompt-credits", cost(0, 0))).toBeUndefined();
    expect(outsideUse([credits(1, 10), credits(2, 12)], "weekly", cost(0, 0))).toBeUndefined();
  });
});
