import { expect, it } from "vitest";
import { equalJson } from "./json.ts";

it("takes -0 for 0, which JSON writes alike", () => {
  expect(equalJson({ a: [-0] }, { a: [0] })).toBe(true);
});

it("does not mind the order of keys, and minds that of items", () => {
  expect(equalJson({ a: 1, b: { c: null } }, { b: { c: null }, a: 1 })).toBe(true);
  expect(equalJson([1, 2], [2, 1])).toBe(false);
  expect(equalJson([], {})).toBe(false);
});
