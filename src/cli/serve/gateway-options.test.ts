import { expect, test } from "vitest";
import { gatewayOptions, retentionOf } from "./gateway-options.ts";

const hour = 3_600_000;

test("the retention is two hours, or what is given, and its cap never shorter", () => {
  expect(retentionOf(2 * hour)).toMatchObject({ windowMs: 2 * hour, capMs: 2 * hour });
  expect(retentionOf(hour / 2)).toMatchObject({ windowMs: hour / 2, capMs: 2 * hour });
  expect(retentionOf(5 * hour)).toMatchObject({ windowMs: 5 * hour, capMs: 5 * hour });
});

test("a retention in which no client could come back is refused", () => {
  expect(() => gatewayOptions.retention.parse("1s")).toThrow("is not a time of 1m to 365d");
});
