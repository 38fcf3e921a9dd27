import * as fc from "fast-check";
import { expect, test } from "vitest";
import { displayWidth } from "./display-width.ts";
import { type Column, printTable } from "./table.ts";

const columns: readonly Column[] = [
  { title: "ID" },
  { title: "AGE", align: "right" },
  { title: "MODEL", drop: 1 },
  { title: "CLIENT", drop: 2 },
];
const rows = [
  ["turn_0123456789", "2 min", "claude-opus-5", "claude-code/2.0"],
  ["turn_9876543210", "1 h", "swe-2", ""],
];

function print(width: number | undefined, wide = false, table = rows): string[] {
  const lines: string[] = [];
  const out = {
    line: (text = "") => void lines.push(text),
    style: (_: unknown, text: string) => text,
    isTerminal: width !== undefined,
    columns: width ?? 80,
  };
  printTable(columns, table, out, wide);
  return lines;
}

test("a wide terminal shows every column under its title", () => {
  expect(print(80)).toEqual([
    "ID                 AGE  MODEL          CLIENT",
    "turn_0123456789  2 min  claude-opus-5  claude-code/2.0",
    "turn_9876543210    1 h  swe-2",
  ]);
});

test("the least important columns leave first, and the others stay whole", () => {
  expect(print(40)[1]).toBe("turn_0123456789  2 min  claude-opus-5");
  expect(print(30)[1]).toBe("turn_0123456789  2 min");
});

test("a pipe, a file and --wide get everything", () => {
  expect(print(undefined)).toEqual(print(200));
  expect(print(20, true)).toEqual(print(200));
});

test("a column without a single value is left out", () => {
  expect(print(80, false, [["a", "b", "", ""]])[0]).toBe("ID  AGE");
});

test("no line is wider than a terminal of ten columns or more", () => {
  const cell = fc.string({ unit: "grapheme", maxLength: 60 }).map((text) => text.replace(/[\p{Cc}\p{Cf}]/gu, ""));
  fc.assert(
    fc.property(
      fc.integer({ min: 10, max: 120 }),
      fc.array(fc.tuple(cell, cell, cell, cell), { minLength: 1 }),
      (width, table) => {
        for (const line of print(width, false, table)) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});

test("a cell of a stranger's words stays in its line, without controls", () => {
  expect(print(80, false, [["a\nb\u001B[2J", "1", "c\rd", "e"]])[1]).toBe("a b␛[2J    1  c␍d    e");
});
