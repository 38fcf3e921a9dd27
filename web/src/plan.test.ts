import { expect, it } from "vitest";
import { movedInLastHour } from "./plan.tsx";
import { timerInWords } from "./words.ts";

it("a window moved by what was used in the last hour, and by nothing known where a reading lacks or the window was reset", () => {
  const nowMs = 10_000_000;
  const moved = (...points: readonly (readonly [minutesAgo: number, used: number | null])[]) =>
    movedInLastHour(
      {
        object: "limits.history",
        since: "",
        data: [
          {
            ide: "devin",
            window: "daily",
            label: "Daily quota",
            points: points.map(([ago, used]) => [nowMs / 1000 - ago * 60, used] as const),
          },
        ],
      },
      "devin daily",
      nowMs,
    );
  expect(moved([60, 0.2], [30, 0.25], [0, 0.3])).toBeCloseTo(0.1);
  expect(moved([120, 0.2], [0, 0.4])).toBeCloseTo(0.1); // two hours
  expect(moved([20, 0.2], [0, 0.25])).toBeCloseTo(0.05);
  expect(moved([60, 0.9], [0, 0.1])).toBeUndefined();
  expect(moved([60, null], [0, 0.1])).toBeUndefined();
  expect(moved([0, 0.1])).toBeUndefined();
});

it("a time that runs down is written as a clock", () => {
  expect([80_000, 79_001, 5_000, 0, -3, 3_723_000].map(timerInWords)).toEqual([
    "1:20",
    "1:20",
    "0:05",
    "0:00",
    "0:00",
    "1:02:03",
  ]);
});
