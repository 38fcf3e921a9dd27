import { describe, expect, it } from "vitest";
import { parseEffort } from "../base/effort.ts";
import { createCatalogue } from "./catalogue.ts";
import { shapeKey, shapeOf, withoutDate } from "./model-shape.ts";

describe("shapeOf", () => {
  it.each([
    ["claude-opus-4-7-high-fast", "claude-opus-4-7", "high", "fast"],
    ["claude-4.7-opus:high-fast", "claude-opus-4-7", "high", "fast"],
    ["Claude Opus 4.7 High Fast", "claude-opus-4-7", "high", "fast"],
    ["gpt-5.2:low-priority", "gpt-5-2", "low", "fast"],
    ["GPT-5.4 No Thinking", "gpt-5-4", "none", ""],
    ["GPT-5.1-Codex-Max High", "gpt-5-1-codex-max", "high", ""],
    ["gpt-5.1-codex-max", "gpt-5-1-codex-max", undefined, ""],
    ["gemini-3.0-pro", "gemini-3-pro", undefined, ""],
    ["gemini-2.0-flash", "gemini-2-flash", undefined, ""],
    ["claude-4.5-sonnet:thinking-1m", "claude-sonnet-4-5", undefined, "1m-thinking"],
    ["claude-sonnet-4-5[1m]", "claude-sonnet-4-5", undefined, "1m"],
    ["anthropic/claude-3.7-sonnet", "claude-sonnet-3-7", undefined, ""],
    ["grok-code-fast-1", "grok-code-fast-1", undefined, ""],
    ["high", "high", undefined, ""],
    ["", "", undefined, ""],
  ])("%s", (text, base, effort, lanes) => expect(shapeOf(text)).toEqual({ base, effort, lanes }));

  it("tells all names of the catalogue apart that are not one model", () => {
    const byKey = new Map<string, Set<string>>();
    for (const { name } of createCatalogue().entries) {
      const key = shapeKey(shapeOf(name));
      byKey.set(key, (byKey.get(key) ?? new Set()).add(name));
    }
    const shared = [...byKey.values()].filter((names) => names.size > 1).map((names) => [...names].join(" = "));
    expect(shared).toEqual([
      "claude-sonnet-4.5 = claude-4.5-sonnet",
      "claude-sonnet-4.5-thinking = claude-4.5-sonnet-thinking",
    ]);
  });
});

describe("parseEffort", () => {
  it.each([
    ["High", "high"],
    ["x-high", "xhigh"],
    ["Extra High", "xhigh"],
    ["No Thinking", "none"],
    ["Medium Thinking", "medium"],
    ["off", "none"],
    ["as you like", undefined],
    ["", undefined],
    ["constructor", undefined],
  ])("%s", (text, effort) => expect(parseEffort(text)).toBe(effort));
});

describe("withoutDate", () => {
  it.each([
    ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    ["claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5[1m]"],
    ["gpt-5.2-2025-12-11", "gpt-5.2"],
    ["claude-haiku-4-5@20251001", "claude-haiku-4-5"],
    ["claude-3-5-sonnet-latest", "claude-3-5-sonnet"],
    ["gemini-2.5-flash-preview-05-20", "gemini-2.5-flash-preview-05-20"],
    ["gpt-5.2", "gpt-5.2"],
  ])("%s", (text, expected) => expect(withoutDate(text)).toBe(expected));
});
