import { expect, test } from "vitest";
import { JsonLines, longestLine } from "./lines.ts";

test("lines become objects, and those that are none are skipped, also across reads", () => {
  const lines = new JsonLines();
  expect(lines.feed('Welcome!\n{"a":1}\n[1]\n{"b"')).toEqual([{ a: 1 }]);
  expect(lines.feed(":2}\n")).toEqual([{ b: 2 }]);
});

test.each([
  ["arrays", `{"a":${"[".repeat(2_000_000)}`],
  ["objects", '{"a":'.repeat(2_000_000)],
  ["arrays that end", `{"a":${"[".repeat(1_001)}${"]".repeat(1_001)}}`],
  ["arrays behind a string with a quote", `{"s":"\\\\\\"[","a":${"[".repeat(1_001)}`],
])("a line of too many levels is refused before it is parsed: %s", (_, line) => {
  expect(() => new JsonLines().feed(`${line}\n`)).toThrow("too many levels");
});

test("brackets in a string are no levels, and neither are those that follow one another", () => {
  const text = '\\"['.repeat(2_000);
  const line = JSON.stringify({ text, list: Array.from({ length: 2_000 }, () => []) });
  expect(new JsonLines().feed(`${line}\n`)).toEqual([JSON.parse(line)]);
});

test("a line that is too long or too deep is left out where its start and its end are wanted, and the next one is read", () => {
  const left: string[] = [];
  const lines = new JsonLines((start, end) => left.push(`${start.slice(0, 9)} ${end.slice(-4)}`));
  for (const part of ['{"a":1}\n{"first"', "x".repeat(longestLine), "y".repeat(longestLine), "last}\n"])
    lines.feed(part);
  expect(lines.feed(`{"deep":${"[".repeat(1_001)}0]}\n{"b":2}\n`)).toEqual([{ b: 2 }]);
  expect(left).toEqual(['{"first"x ast}', '{"deep":[ [0]}']);
});

test("a line that is too long is refused", () => {
  expect(() => new JsonLines().feed("x".repeat(longestLine + 1))).toThrow("too long");
});
