import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isObject, numberOf, parseJson, withTexts, writeJson, writeJsonApart } from "./json.ts";

test.each([
  "2512292042121000001",
  "-9223372036854775808",
  "18446744073709551615",
  "1e400",
  "-1E-400",
  "0.1000000000000000055511151231257827",
  "123456789012345678901234567890.5e-3",
])("the number %s keeps its text at any place", (number) => {
  for (const text of [number, `[${number}]`, `{"a":{"b":[1,${number}]}}`, `{"a":"x: 1e5","b":${number}}`])
    expect(writeJson(parseJson(text))).toBe(text);
});

test.each([
  "1.0",
  "100",
  "1e3",
  "0.30000000000000004",
  "9007199254740992",
  "1732612345.123457",
  "1e21",
  "5e-324",
  "0e5",
])("the number %s is a number, because a double holds it", (number) => {
  expect(parseJson(`[${number}]`)).toEqual([Number(number)]);
});

test("a number that is kept as its text is no object, and has a nearest double", () => {
  const [kept] = parseJson("[9223372036854775807]") as unknown[];
  expect(isObject(kept)).toBe(false);
  expect(numberOf(kept)).toBe(2 ** 63);
  expect(numberOf("1")).toBeUndefined();
});

/** Where Python's `str.splitlines` cuts. */
const ends = new Set("\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029".split(""));

test("JSON that is written has no end of a line, and reads back the same", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "\n", "\r", "\u0085", "\u2028", "\u2029", "\\", '"', "\u001c") });
  fc.assert(
    fc.property(text, fc.dictionary(text, text), (said, members) => {
      const written = writeJson({ said, members });
      expect(written.split("").filter((letter) => ends.has(letter))).toEqual([]);
      expect(parseJson(written)).toEqual({ said, members });
    }),
  );
});

test.each(["", "{", "[1,]", "01", "NaN", "[12345678901234567890"])("the text %j is no JSON", (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

test("a value whose long texts stand apart from its JSON is the same again", () => {
  const file = "iVBORw0KGgo/".repeat(10_000);
  const value = {
    files: [file, `${file}==`],
    text: `turn_x "file" ${"\\".repeat(70_000)}\u2028`,
    same: file,
    half: "\ud83d".repeat(70_000),
    id: parseJson("[12345678901234567890]"),
  };
  const [json, ...texts] = writeJsonApart(value, "turn_y:text");
  expect(texts).toHaveLength(4);
  expect(writeJson(withTexts(parseJson(json), "turn_y:text", texts))).toBe(writeJson(value));
});
