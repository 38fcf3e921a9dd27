import { expect, test } from "vitest";
import { percentLeft, percentWindow, sameReset } from "./limits.ts";

test("the percent that are left and those that are used are 100 together, at each whole percent", () => {
  const about = {
    id: "weekly",
    label: "Weekly",
    scope: "plan",
    resetsAtMs: undefined,
    windowSeconds: undefined,
  } as const;
  for (let used = 0; used <= 100; used++) {
    const window = percentWindow(about, 1 - used / 100);
    expect([used, window.used, percentLeft(window.utilization ?? Number.NaN)]).toEqual([used, used, 100 - used]);
  }
});

test("a part of a percent is cut down", () => {
  expect([0.996, 0.004, 1, 1.2].map(percentLeft)).toEqual([0, 99, 0, 0]);
});

test("two readings of one reset are ten minutes apart at most, and no reset is none", () => {
  const atMs = 1_750_000_000_000;
  const others = [atMs, atMs - 600_000, atMs + 600_000, atMs + 600_001, atMs - 600_001, undefined];
  expect(others.map((other) => sameReset(atMs, other))).toEqual([true, true, true, false, false, false]);
  expect([sameReset(undefined, undefined), sameReset(undefined, atMs)]).toEqual([true, false]);
});
