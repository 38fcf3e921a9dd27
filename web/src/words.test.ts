import { expect, it } from "vitest";
import { outsideInWords } from "./words.ts";

it.each([
  ["percent", 60, 20, "60 % of the plan of Devin Desktop was used in this time, at most 20 % of it outside Millrace."],
  ["credits", 60, 0, "60 credits of the plan of Devin Desktop were used in this time, all of it through Millrace."],
  [
    "percent",
    1,
    null,
    "1 % of the plan of Devin Desktop was used in this time. Millrace cannot tell how much of that went through it.",
  ],
] as const)("tells a loss in %s: %d", (unit, lost, outside, sentence) => {
  const at = "2025-06-01T00:00:00.000Z";
  const use = { ide: "devin", source: "language_server", window: "daily", from: at, to: at, explained: 0 } as const;
  expect(outsideInWords({ ...use, unit, lost, used_outside: outside, bound: "at_most" })).toBe(sentence);
});
