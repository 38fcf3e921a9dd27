import { expect, test } from "vitest";
import { isOwnTool } from "./tool-names.ts";

const offered = { server: "mill1", tools: ["get_weather"] };

test.each([
  ["mill1_get_weather", "other", true],
  ["mcp__mill1__get_weather", undefined, true],
  ["get_weather (mill1 MCP Server)", "other", true],
  ["mill1_get_weather", "execute", false],
  ["mill1_get_weather", "edit", false],
  ["mill1_other", "other", false],
  ["get_weather", "other", false],
  ["millrace_get_weather", "other", false],
  ["rm -rf mill1_get_weather", "other", false],
  ["mill1_get_weather; rm -rf .", "other", false],
] as const)("a step titled %j of the kind %j is a call of the client's tool: %j", (title, kind, isOwn) => {
  expect(isOwnTool({ title, name: undefined, kind, input: undefined }, offered)).toBe(isOwn);
});

const call = { server: "mill1", tool: "get_weather", arguments: {} };
test.each([
  ["Codex' words for it, its input and its kind", "mcp.mill1.get_weather", call, true],
  ["an input that a command could have too", "mcp.mill1.get_weather", { ...call, command: "ls" }, false],
  ["another server", "mcp.mill1.get_weather", { ...call, server: "other" }, false],
  ["another tool", "mcp.mill1.get_weather", { ...call, tool: "other" }, false],
  ["no input", "mcp.mill1.get_weather", undefined, false],
  ["other words", "cat mcp.mill1.get_weather", call, false],
] as const)("a step that executes, with %s", (_, title, input, isOwn) => {
  expect(isOwnTool({ title, name: undefined, kind: "execute", input }, offered)).toBe(isOwn);
});

test.each([
  ["mcp__mill1__get_weather", "Looking at the sky", "execute", true],
  ["mill1_get_weather", "", undefined, true],
  ["mcp__other__get_weather", "Looking at the sky", "other", false],
  ["bash", "mill1_get_weather", "execute", false],
] as const)(
  "a step named %j and titled %j, of the kind %j, is a call of the client's tool: %j",
  (name, title, kind, isOwn) => {
    expect(isOwnTool({ title, name, kind, input: undefined }, offered)).toBe(isOwn);
  },
);
