import { expect, test } from "vitest";
import { defaultConnectionLimits } from "../../gateway/http/connection-limits.ts";
import { connectionLimitsOf } from "./connection-limits.ts";

test("limits of connections have defaults, and each is a variable in seconds", () => {
  expect(connectionLimitsOf({})).toEqual(defaultConnectionLimits);
  const env = { MILLRACE_HEADERS_SECONDS: "2", MILLRACE_REQUEST_SECONDS: "2.5", MILLRACE_IDLE_SECONDS: "" };
  expect(connectionLimitsOf(env)).toEqual({ ...defaultConnectionLimits, headersMs: 2_000, requestMs: 2_500 });
});

test.each(["0", "x", "-1", "Infinity"])("a limit of %s is refused by its name", (text) => {
  expect(() => connectionLimitsOf({ MILLRACE_IDLE_SECONDS: text })).toThrow(/MILLRACE_IDLE_SECONDS/);
});
