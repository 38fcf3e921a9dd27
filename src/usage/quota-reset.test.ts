import { expect, test } from "vitest";
import { percentWindow } from "./limits.ts";
import { quotaAdvice, quotaReset } from "./quota-reset.ts";

const about = { label: "", scope: "plan", windowSeconds: undefined } as const;
const window = (id: string, left: number | undefined, resetsAtMs: number | undefined) =>
  percentWindow({ ...about, id, resetsAtMs }, left);

function snapshot(...windows: ReturnType<typeof window>[]) {
  const rest = {
    build: "",
    readAtMs: 0,
    shape: "quota",
    source: "language_server",
    planName: undefined,
  } as const;
  return [{ ide: "windsurf" as const, ...rest, windows }];
}

test("the latest reset of the windows that are used up", () => {
  expect(quotaReset(snapshot(window("daily", 0, 500), window("weekly", 0, 900), window("month", 0.9, 2000)), 0)).toBe(
    900,
  );
});

test("the window that is used most, where the reading is older than the refusal", () => {
  expect(quotaReset(snapshot(window("daily", 0.02, 500), window("weekly", 0.4, 900)), 0)).toBe(500);
});

test.each([
  ["no reading", []],
  ["a reset that has passed", snapshot(window("daily", 0, 50))],
  ["no reset", snapshot(window("daily", 0, undefined))],
  ["no number", snapshot(window("daily", undefined, 500))],
])("nothing from %s", (_, snapshots) => {
  expect(quotaReset(snapshots, 100)).toBeUndefined();
});

test("of the window that the refusal names, also where another is used more", () => {
  const both = snapshot(window("daily", 0.01, 500), window("weekly", 0.02, 900));
  expect(quotaReset(both, 0, "weekly")).toBe(900);
  expect(quotaReset(both, 0, "daily")).toBe(500);
});

test("what helps is when it resets, and the free models", () => {
  const noon = new Date(2026, 10, 24, 12).getTime();
  const reset = new Date(2026, 11, 12, 11).getTime();
  const free = ["swe-1.5-slow", "swe-1.6", "a", "b"].map((name) => ({ name }));
  expect(quotaAdvice({ resetsAtMs: reset }, free, noon)).toBe(
    "It resets in 17 d 23 h (12 Dec). Free, and can be asked now: swe-1.5-slow, swe-1.6, a.",
  );
  expect(quotaAdvice({ resetsAtMs: undefined }, free.slice(0, 1), noon)).toBe(
    "`millrace usage` shows when it resets. Free, and can be asked now: swe-1.5-slow.",
  );
  expect(quotaAdvice({ resetsAtMs: undefined, ofAgent: "opencode" }, free.slice(0, 1), noon)).toBe(
    "opencode itself can show when it resets. Free, and can be asked now: swe-1.5-slow.",
  );
  expect(quotaAdvice({ resetsAtMs: undefined }, [], noon)).toBeUndefined();
});
