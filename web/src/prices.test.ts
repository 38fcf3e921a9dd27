import { expect, it } from "vitest";
import { creditsOf, creditsOfAll } from "../../src/usage/prices.ts";
import { creditsInWords, pricesOf } from "./prices.ts";

const model = (uid: string, credit_multiplier: number | null, cost_tier: "free" | null = null) => ({
  uid,
  name: uid,
  label: uid,
  vendor: "some",
  family: null,
  variant: null,
  context_tokens: null,
  max_output_tokens: null,
  images: false,
  credit_multiplier,
  cost_tier,
  backend: null,
  is_default: false,
  is_new: false,
  disabled_reason: null,
  last_used_at: null,
});

it("a model costs what the price list says, and nothing where its tier is free", () => {
  const data = [model("opus", 4), model("swe", 1, "free"), model("new", null)];
  expect([...pricesOf({ object: "list", data })]).toEqual([
    ["opus", 4],
    ["swe", 0],
  ]);
});

it("credits are the IDE's own where it reported them, else by the price list and marked, else unknown", () => {
  const cost = (credits: number | null, credits_estimated: number | null) => {
    const known = creditsOf({ credits, credits_estimated });
    return known && creditsInWords(known);
  };
  expect(cost(3.5, null)).toBe((3.5).toLocaleString());
  expect(cost(null, 4)).toBe("~4");
  expect(cost(null, 0)).toBe("~0");
  expect(cost(null, null)).toBeUndefined();
});

it("a sum of credits says what is estimated, and that some turns are missing; one that failed is not missing", () => {
  const none = { credits: 0, credits_known_turns: 0, credits_estimated: 0, credits_estimated_turns: 0 };
  const sum = (...spends: readonly Partial<Parameters<typeof creditsOfAll>[0][number]>[]) => {
    const known = creditsOfAll(spends.map((part) => ({ turns: 10, failed: 2, ...none, ...part })));
    return known && creditsInWords(known);
  };
  expect(sum({})).toBeUndefined();
  expect(sum({ credits: 12, credits_known_turns: 8 })).toBe("12");
  expect(sum({ credits_estimated: 32, credits_estimated_turns: 8 })).toBe("~32");
  expect(sum({ credits: 12, credits_known_turns: 3, credits_estimated: 20, credits_estimated_turns: 5 })).toBe("~32");
  expect(sum({ credits: 12, credits_known_turns: 8 }, {})).toBe("≥12");
});
