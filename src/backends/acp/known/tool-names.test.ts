import { expect, test } from "vitest";
import { isOwnTool } from "./tool-names.ts";

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
  expect(isOwnTool({ title, name: undefined, kind, input: undefined }, ["get_weather"])).toBe(isOwn);
});

const call = { server: "millrace", tool: "get_weather", arguments: {} };
test.each([
  ["Codex' words for it, its input and its kind", "mcp.millrace.get_weather", call, true],
  ["an input that a command could have too", "mcp.millrace.get_weather", { ...call, command: "ls" }, false],
  ["another server", "mcp.millrace.get_weather", { ...call, server: "other" }, false],
  ["another tool", "mcp.millrace.get_weather", { ...call, tool: "other" }, false],
  ["no input", "mcp.millrace.get_weather", undefined, false],
  ["other words", "cat mcp.millrace.get_weather", call, false],
] as const)("a step that executes, with %s", (_, title, input, isOwn) => {
  expect(isOwnTool({ title, name: undefined, kind: "execute", input }, ["get_weather"])).toBe(isOwn);
});

test.each([
  ["mcp__millrace__get_weather", "Looking at the sky", "execute", true],
  ["millrace_get_weather", "", undefined, true],
  ["mcp__other__get_weather", "Looking at the sky", "other", false],
  ["bash", "millrace_get_weather", "execute", false],
] as const)(
  "a step named %j and titled %j, of the kind %j, is a call of the client's tool: %j",
  (name, title, kind, isOwn) => {
    expect(isOwnTool({ title, name, kind, input: undefined }, ["get_weather"])).toBe(isOwn);
  },
);
