import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutTo, displayWidth, padEndTo, padStartTo, wrapLine, wrapProse } from "./display-width.ts";
import { openStyleMarks, withoutMarks } from "./foreign-text.ts";

const { mark } = openStyleMarks();

describe("the width of a text on a terminal", () => {
  it.each([
    ["", 0],
    ["abc", 3],
    ["naïve", 5],
    ["nai\u0308ve", 5],
    ["模型", 4],
    ["ｱｲ", 2],
    ["ＡＢ", 4],
    ["カタカナ", 8],
    ["한국어", 6],
    ["🚀", 2],
    ["👩‍👩‍👧", 2],
    ["❤️", 2],
    ["a\u200Bb", 2],
    ["█░│", 3],
    ["…", 1],
    [mark("green", "ahead"), 5],
  ])("%j takes %i columns", (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it("pads to columns, not to letters", () => {
    expect(padEndTo("模型", 6)).toBe("模型  ");
    expect(padStartTo("模型", 5)).toBe(" 模型");
    expect(padEndTo("longer", 3)).toBe("longer");
  });
});

describe("a text that is cut", () => {
  it.each([
    ["as it is", 8, "as it is"],
    ["as it was", 8, "as it w…"],
    ["模型模型", 8, "模型模型"],
    ["模型模型", 7, "模型模…"],
    ["模型模型", 6, "模型…"],
    ["abc", 1, "…"],
  ])("%j in %i columns is %j", (text, width, cut) => {
    expect(cutTo(text, width)).toBe(cut);
  });
});

describe("a line that is wrapped", () => {
  it("breaks at blanks, keeps its indent, and cuts only what is longer than a line", () => {
    expect(wrapLine("    resets in 18 d 5 h · ahead", 20)).toEqual(["    resets in 18 d 5", "    h · ahead"]);
    expect(wrapLine("  abcdefghijklmnop", 10)).toEqual(["  abcdefgh", "  ijklmnop"]);
    expect(wrapLine("模型模型", 5)).toEqual(["模型", "模型"]);
    expect(wrapLine("as it is", 8)).toEqual(["as it is"]);
  });

  it("is never wider than asked, and loses no word, for any text", () => {
    const word = fc.oneof(
      fc.constantFrom("ahead", "模型カタ", "🚀🚀", "a-rather-long-word-of-a-name", "│░░█"),
      fc
        .string({ maxLength: 6 })
        .map((text) => text.replaceAll(/[\p{Control}\p{Zs}\p{Surrogate}\p{Mark}\p{Format}]/gu, "")),
    );
    const line = fc
      .tuple(fc.nat(6), fc.array(fc.tuple(word, fc.boolean()), { maxLength: 12 }))
      .map(([indent, words]) => {
        const styled = words.map(([text, isRed]) => (isRed ? mark("red", text) : text));
        return " ".repeat(indent) + styled.join(" ");
      });
    fc.assert(
      fc.property(line, fc.integer({ min: 2, max: 60 }), (text, width) => {
        const lines = wrapLine(text, width);
        for (const one of lines) expect(displayWidth(one)).toBeLessThanOrEqual(width);
        const letters = (all: string) => withoutMarks(all).replaceAll(" ", "");
        expect(letters(lines.join(""))).toBe(letters(text));
      }),
    );
  });
});

it("prose breaks between words, keeps a command whole, and hangs under its label", () => {
  expect(wrapProse("Ask again, or type `millrace usage` now.", 24)).toEqual([
    "Ask again, or type",
    "`millrace usage` now.",
  ]);
  expect(wrapProse("  key    one two three four", 20)).toEqual(["  key    one two", "         three four"]);
  expect(wrapProse("  key    /home/me/.config", 18)).toEqual(["  key", "  /home/me/.config"]);
  expect(wrapProse("short\nlines", 20)).toEqual(["short", "lines"]);
});
