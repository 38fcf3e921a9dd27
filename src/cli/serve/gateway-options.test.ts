import { expect, test } from "vitest";
import { gatewayOptions } from "./gateway-options.ts";

test("a retention in which no client could come back is refused", () => {
  expect(() => gatewayOptions.retention.parse("1s")).toThrow("is not a time of 1m to 365d");
});
