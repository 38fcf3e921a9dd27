import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { MarkdownPrinter, styleLine } from "./markdown.ts";
import { openOutput } from "./output.ts";

const marked = (names: unknown, text: string) => `<${String(names)}>${text}</>`;

test.each([
  ["## Part **one** ##", "<bold>Part one</>"],
  ["- a `b` and **c**", "• a <cyan>b</> and <bold>c</>"],
  ["  * nested", "  • nested"],
  ["> said", "<dim>│</> said"],
  ["---", "<dim>---</>"],
  ["2 ** 3 ** 4 and a_name_of_many", "2 ** 3 ** 4 and a_name_of_many"],
  ["**kwargs", "**kwargs"],
  ["``a ` b``", "<cyan>a ` b</>"],
  ["#hashtag", "#hashtag"],
])("%j is drawn as %j", (line, drawn) => {
  expect(styleLine(line, false, marked)).toBe(drawn);
});

test("a line inside a code block keeps its text", () => {
  expect(styleLine("# not a **heading**", true, marked)).toBe("<cyan># not a **heading**</>");
});

function print(deltas: readonly string[], env: Readonly<Record<string, string>>, isTTY: boolean): string {
  const stdout = Object.assign(new PassThrough(), { isTTY, columns: 10, rows: 24 });
  let text = "";
  stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const printer = new MarkdownPrinter(openOutput(stdout, new PassThrough(), env));
  for (const delta of deltas) printer.add(delta);
  printer.end();
  return text;
}

test("a pipe and NO_COLOR get the text unchanged", () => {
  const deltas = ["# He", "ading\n- it", "em\n"];
  expect(print(deltas, {}, false)).toBe(deltas.join(""));
  expect(print(deltas, { NO_COLOR: "1" }, true)).toBe(deltas.join(""));
});

test("a terminal shows text at once, and draws the line again when it is complete", () => {
  expect(print(["- **a", "b**\nrest"], {}, true)).toBe("- **ab**\r\u001B[J• \u001B[1mab\u001B[22m\nrest");
});

test("a terminal breaks text between words, and keeps the lines of code", () => {
  expect(print(["one two th", "ree"], {}, true)).toBe("one two th\r\u001B[Jone two\nthree");
  expect(print(["- one two three"], {}, true)).toContain("• one two\n  three");
  expect(print(["```\nconst one = 1;\n"], {}, true)).toContain("const one = 1;");
});

test("a line over several rows is drawn again from its first row", () => {
  expect(print([`# ${"x".repeat(18)}\n`], {}, true)).toContain("\u001B[2A\r\u001B[J\u001B[1mxxx");
});

test("a model's own sequences do nothing on a terminal, in text, in code and in parts", () => {
  const deltas = ["**a\u001B]5", "2;c;YQ==\u0007**\n```\n\u009B2Jsafe\rEVIL\n", "\u001B", "[2J"];
  const own = /\r\u001B\[J|\u001B\[(?:\d+A|1m|2m|22m|36m|39m)/g; // oxlint-disable-line no-control-regex
  const text = print(deltas, {}, true).replaceAll(own, "");
  expect(text).not.toMatch(/[\0-\u0009\u000B-\u001F\u007F-\u009F]/); // oxlint-disable-line no-control-regex
  expect(print(deltas, {}, false)).toBe(deltas.join(""));
});
