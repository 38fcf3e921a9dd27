import { expect, it } from "vitest";
import { amountInWords, toneOf } from "./window-words.ts";

const metered = { state: "metered", kind: "consumption", unit: "credits", used: 3, limit: 10, remaining: 7 } as const;
const words = { count: String, dollars: (value: number) => `${value.toFixed(2)} USD` };

it.each([
  [{}, "3 of 10 credits used"],
  [{ limit: null }, "7 credits left"],
  [{ unit: "percent" }, "3 % used"],
  [{ state: "unlimited" }, "3 credits used, unlimited"],
  [{ state: "unknown" }, "unknown"],
  [{ kind: "balance", unit: "usd", remaining: 12.5 }, "12.50 USD left"],
  [{ kind: "balance", unit: "usd", remaining: -1 }, "1.00 USD owed"],
] as const)("the amount of a window with %j is %s", (part, text) => {
  expect(amountInWords({ ...metered, ...part }, words)).toBe(text);
});

it.each([
  [0.89, undefined, "good"],
  [0.9, undefined, "warn"],
  [1, undefined, "bad"],
  [1.2, undefined, "bad"],
  [0.1, "tight", "warn"],
  [0.79, "runs_out", "warn"],
  [0.8, "runs_out", "bad"],
  [0.5, "exhausted", "bad"],
] as const)("a window that is used to %d, with the pace %s, looks %s", (utilization, verdict, tone) => {
  const pace = verdict === undefined ? null : { verdict };
  expect(toneOf({ ...metered, utilization, pace })).toBe(tone);
  expect(toneOf({ ...metered, state: "unlimited", utilization, pace })).toBe("plain");
});
