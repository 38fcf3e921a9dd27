import { expect, test } from "vitest";
import { retentionOf } from "./retention-options.ts";

const hour = 3_600_000;

test("the retention is two hours, or what is given, and its cap never shorter", () => {
  expect(retentionOf(2 * hour, undefined)).toMatchObject({ windowMs: 2 * hour, capMs: 2 * hour });
  expect(retentionOf(hour / 2, undefined)).toMatchObject({ windowMs: hour / 2, capMs: 2 * hour });
  expect(retentionOf(5 * hour, undefined)).toMatchObject({ windowMs: 5 * hour, capMs: 5 * hour });
  expect(retentionOf(hour, 3 * hour)).toMatchObject({ windowMs: hour, capMs: 3 * hour });
});

test("a retention in which no client could come back is refused, and so is a cap below it", () => {
  expect(() => retentionOf(1000, undefined)).toThrow("less than a minute");
  expect(() => retentionOf(2 * hour, hour)).toThrow("less than the retention");
});
