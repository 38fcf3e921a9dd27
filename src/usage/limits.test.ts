import { expect, test } from "vitest";
import { percentLeft, percentWindow } from "./limits.ts";

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
