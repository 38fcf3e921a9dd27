import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { jsonText, openStyleMarks, visible } from "./foreign-text.ts";

const raw = new RegExp(
  String.raw`[\0-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E03FF}]`,
  "u",
);
/** Sequences that do something on some terminal. */
const sequences = [
  "\u001B]52;c;cm0gLXJmIH4=\u0007", // puts text on the clipboard
  "\u001B]8;;http://evil.example\u001B\\click\u001B]8;;\u001B\\", // a link with another text
  "\u001B]0;title\u0007",
  "\u001BP+q544e\u001B\\", // DCS: the terminal answers as if the user typed
  "\u009D52;c;YQ==\u009C", // OSC as C1
  "\u009B2J", // CSI as C1
  "safe\rEVIL",
  "\u001B[2J\u001B[1;1H",
  "\u001B[8mhidden",
  "\b\b\b\u007F",
  "\u202Egnp.exe",
  "\u200Bpay\u2060pal\uFEFF",
  "one\u2028two\u2029three\u0085four",
  "hidden \u{E0041}\u{E0042}",
];
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...sequences),
      fc.string({ unit: anyCharacter }),
      fc.constantFrom("\uFDD0", "\uFDEF\uFDE3"),
    ),
  )
  .map((parts) => parts.join(""));

describe("foreign text", () => {
  it("holds nothing that a terminal obeys, whole or in parts, and the same is shown twice", () => {
    fc.assert(
      fc.property(hostile, fc.nat(), (text, at) => {
        expect(visible(text)).not.toMatch(raw);
        expect(visible(visible(text))).toBe(visible(text));
        const cut = at % (text.length + 1);
        expect(visible(text.slice(0, cut)) + visible(text.slice(cut))).not.toMatch(raw);
      }),
    );
  });

  it("keeps words, tabs and lines, and shows each control as a character", () => {
    expect(visible("a\tb\r\nc — 模型 🚀\n")).toBe("a\tb\nc — 模型 🚀\n");
    expect(visible("one\u2028two\u2029three\u0085four\u200B\u{E0041}\uFEFF")).toBe("one\ntwo\nthree\nfour");
    expect(visible("👩\u200d💻 می\u200cخواهم")).toBe("👩\u200d💻 می\u200cخواهم");
    expect(visible("safe\rEVIL\u001B[2J\u007F\u009B")).toBe("safe␍EVIL␛[2J␡\uFFFD");
  });

  it("is the same value in JSON, with every control escaped", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(jsonText({ text }, 2)).not.toMatch(raw);
        expect(JSON.parse(jsonText({ text }))).toEqual({ text });
      }),
    );
  });

  it("gets no style, and a style that is ours gets its codes, for any text", () => {
    const { mark, toTerminal } = openStyleMarks();
    const codes = new RegExp(String.raw`\u001B\[(?:1|2|3[1236]|22|39)m`, "g");
    fc.assert(
      fc.property(hostile, hostile, (before, inner) => {
        expect(toTerminal(before)).not.toMatch(raw);
        const text = toTerminal(before + mark(["bold", "red"], inner) + before);
        expect(text.match(codes)).toEqual(["\u001B[1m", "\u001B[31m", "\u001B[39m", "\u001B[22m"]);
        expect(text.replaceAll(codes, "")).not.toMatch(raw);
      }),
    );
  });
});

it("nothing under src/cli prints but the output, the first line of the program, and the log", () => {
  const root = join(import.meta.dirname, "..");
  const printing = /(?:std(?:out|err)\b[\w.]*\.write\(|\bconsole\.|process\.std(?:out|err)\b)/;
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts") && !/\.(?:test|fake|conformance)\.ts$/.test(name))
    .filter((name) => printing.test(readFileSync(join(root, name), "utf8")));
  expect(files.toSorted()).toEqual([
    "bin.ts", // hands both streams over, and prints a status line that statusline-fast.ts has read through `visible`
    "chat/hold-conversation.ts", // Node's editor of lines, which shows what the user types
    "gateway-process/gateway-log.ts", // through `visible`
    "terminal/ask-yes.ts", // the line break that a question is left with
    "terminal/output.ts",
  ]);
});
