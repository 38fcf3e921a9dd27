import { expect, test } from "vitest";
import { isOwnTool } from "./session-tools.ts";

test.each([
  ["millrace_get_weather", "other", true],
  ["mcp__millrace__get_weather", undefined, true],
  ["get_weather (millrace MCP Server)", "other", true],
  ["millrace_get_weather", "execute", false],
  ["millrace_get_weather", "edit", false],
  ["millrace_other", "other", false],
  ["get_weather", "other", false],
  ["rm -rf millrace_get_weather", "other", false],
  ["millrace_get_weather; rm -rf .", "other", false],
] as const)("a step titled %j of the kind %j is a call of the client's tool: %j", (title, kind, isOwn) => {
  expect(isOwnTool({ title, kind }, ["get_weather"])).toBe(isOwn);
});
