import * as fc from "fast-check";
import { expect, it } from "vitest";
import { fakeModelOf } from "./models.fake.ts";
import { editDistance, nearestNames } from "./nearest.ts";

it("the distance of two texts is a metric, and at most the longer one's length", () => {
  const text = fc.string({ maxLength: 12 });
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});

it("counts single edits", () => {
  expect(editDistance("gpt-5.2", "gpt-5.1")).toBe(1);
  expect(editDistance("kitten", "sitting")).toBe(3);
  expect(editDistance("", "abc")).toBe(3);
});

it("suggests models of the family that was meant, and no other", () => {
  const models = ["swe-1.5:slow", "gpt-5", "gpt-5:high", "gpt-5-codex", "glm-5.1", "kimi-k2", "o3"].map((name) =>
    fakeModelOf(name),
  );
  expect(nearestNames("gpt5", models, 3)).toEqual(["gpt-5", "gpt-5:high", "gpt-5-codex"]);
  expect(nearestNames("gpt5-mini", models, 9).every((name) => name.startsWith("gpt-"))).toBe(true);
  expect(nearestNames("swe", models, 3)).toEqual(["swe-1.5:slow"]);
  expect(nearestNames("o4", models, 1)).toEqual(["o3"]);
  expect(nearestNames("zzz", models, 3)).toEqual([]);
});

it.each([
  ["opus", /opus/],
  ["gpt-99", /^gpt-/],
  ["hiaku", /haiku/],
  ["sonnet 9", /sonnet/],
  ["anthropic/claude-opus-9", /opus/],
])("knows a model by a word of it: %s", (asked, first) => {
  const models = ["kimi-k2", "claude-opus-4.7:high", "glm-5.1", "gpt-5.2", "claude-4.5-haiku", "claude-sonnet-4.6"];
  expect(
    nearestNames(
      asked,
      models.map((name) => fakeModelOf(name)),
      3,
    )[0],
  ).toMatch(first);
});
