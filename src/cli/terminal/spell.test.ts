import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { nearestWord, spellAge, spellBytes, spellCount, spellLines } from "./spell.ts";

describe("what doctor spells out", () => {
  it.each([
    [0, "0 bytes"],
    [999, "999 bytes"],
    [1_400_000_000, "1.4 GB"],
    [312_000, "312 KB"],
  ])("%i bytes are %s", (bytes, text) => {
    expect(spellBytes(bytes)).toBe(text);
  });

  it.each([
    [40_000, "40 s"],
    [7_500_000, "2 h 5 min"],
    [273_600_000, "3 d 4 h"],
    [-5, "0 s"],
  ])("%i ms are %s", (ms, text) => {
    expect(spellAge(ms)).toBe(text);
  });

  it("is one of one and several of several", () => {
    expect([spellCount(1, "turn"), spellCount(0, "turn"), spellCount(3, "turn")]).toEqual([
      "1 turn",
      "0 turns",
      "3 turns",
    ]);
  });

  it("is broken at blanks, under its own first word", () => {
    expect(spellLines("one two three", 10, 2, 4)).toEqual(["  one two", "    three"]);
    expect(spellLines("one two three", Number.POSITIVE_INFINITY, 2, 4)).toEqual(["  one two three"]);
  });

  it("keeps every word, and no line longer than it must be", () => {
    const words = fc.array(fc.stringMatching(/^[a-z/]{1,20}$/), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(words, fc.integer({ min: 10, max: 60 }), (all, width) => {
        const lines = spellLines(all.join(" "), width, 2, 4);
        expect(lines.flatMap((line) => line.trim().split(" "))).toEqual(all);
        expect(lines.every((line) => line.length <= width || !line.trim().includes(" "))).toBe(true);
      }),
    );
  });
});

test.each([
  ["codx", "codex"],
  ["sttaus", "status"],
  ["Serve", "serve"],
  ["update", undefined],
  ["top", undefined],
])("of a mistyped %s the near word is %s", (typed, nearest) => {
  expect(nearestWord(typed, ["codex", "status", "serve", "usage", "stop"])).toBe(nearest);
});
