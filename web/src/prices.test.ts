import { expect, it } from "vitest";
import { creditsOf, creditsOfModel } from "../../src/usage/prices.ts";
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
  is_default: false,
  is_new: false,
  disabled_reason: null,
  last_used_at: null,
});
const prices = pricesOf({
  object: "list",
  data: [model("opus", 4), model("swe", 1, "free"), model("new", null)],
});

it("credits are the IDE's own where it reported them, else by the price list and marked, else unknown", () => {
  const cost = (uid: string, credits: number | null, status = "finished") => {
    const known = creditsOf({ model: uid, status, credits }, prices);
    return known && creditsInWords(known);
  };
  expect(cost("opus", 3.5)).toBe("3.5");
  expect(cost("opus", null)).toBe("~4");
  expect(cost("swe", null)).toBe("~0");
  expect(cost("new", null)).toBeUndefined();
  expect(cost("gone", null)).toBeUndefined();
  expect(cost("opus", null, "failed")).toBeUndefined();
});

it("a model's credits count each turn once", () => {
  const spend = (part: object) => ({
    key: "opus",
    name: "opus",
    turns: 10,
    finished: 8,
    failed: 2,
    cancelled: 0,
    credits: 0,
    credits_known_turns: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    thinking_tokens: 0,
    cached_prompt_tokens: 0,
    estimated_tokens: 0,
    estimated_turns: 0,
    unknown_turns: 0,
    mean_first_token_ms: null,
    duration_ms: 0,
    ...part,
  });
  expect(creditsOfModel(spend({}), prices)).toEqual({ value: 32, isEstimated: true });
  expect(creditsOfModel(spend({ credits: 12, credits_known_turns: 3 }), prices)).toEqual({
    value: 32,
    isEstimated: true,
  });
  expect(creditsOfModel(spend({ credits: 12, credits_known_turns: 10 }), prices)).toEqual({
    value: 12,
    isEstimated: false,
  });
  expect(creditsOfModel(spend({ key: "gone" }), prices)).toBeUndefined();
});
