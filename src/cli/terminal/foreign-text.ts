import { inspect } from "node:util";
import { ideName } from "../../base/ide-name.ts";

/** Controls that a terminal obeys (C0 but tab and line feed, DEL, C1), marks that change the order in which text is shown, and other ends of lines. */
const controls = new RegExp(
  String.raw`[\0-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]`,
  "g",
);

/** Characters that nobody sees: they hide text, or make two texts look the same. */
const unseen = new RegExp(
  String.raw`[\u00AD\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B\u2060-\u2065\u206A-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]|\uDB40[\uDC00-\uDFFF]?`,
  "g",
);

/**
 * A text without anything that a terminal obeys. Models, clients, agents and files write what Millrace prints. Each control becomes a
 * visible character (`␛`), so the rest of a sequence is plain text; invisible characters are left out, but for the joiners of words and emoji. The `\r` of a line end is dropped. Each character is judged alone,
 * so a sequence that comes in two parts does not pass either. Applying it twice changes nothing.
 * Source: ECMA-48, 5.3 and 5.6; Unicode UAX 9, 2.1 and 2.2.
 */
export function visible(text: string): string {
  const seen = text.replace(/\r(?=\n|$)/g, "").replace(unseen, "");
  return seen.replace(controls, (control) => {
    const code = control.charCodeAt(0);
    if (code === 0x85 || code === 0x2028 || code === 0x2029) return "\n";
    if (code < 0x20) return String.fromCharCode(0x2400 + code); // the pictures of C0
    return code === 0x7f ? "␡" : "\uFFFD";
  });
}

/** A value as JSON in our style in which no control is raw: `JSON.stringify` leaves DEL, C1 and the marks of direction as they are. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, inJsonStyle, indent) ?? "null";
  const escaped = (char: string) => Array.from({ length: char.length }, (_, at) => unicodeEscape(char, at)).join("");
  return text.replace(controls, escaped).replace(unseen, escaped);
}

function unicodeEscape(char: string, at: number): string {
  return `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Characters that no text has: Unicode keeps 32 of them for a program's own use. Source: Unicode 16, 23.7, Noncharacters. */
const noncharacters = /[\uFDD0-\uFDEF]+/g;
const [firstMark, markLength] = [0xfdd0, 16];
const styles: readonly Style[] = ["bold", "dim", "red", "green", "yellow", "cyan"];

/**
 * Styles as marks in a text, which take no room. Only the writer turns marks into codes of the terminal (`toTerminal`), after it has made
 * foreign text visible. A mark begins with a random word, so foreign text cannot hold one.
 */
export function openStyleMarks() {
  const random = [...crypto.getRandomValues(new Uint8Array(markLength))];
  const word = String.fromCharCode(...random.map((byte) => firstMark + (byte & 31)));
  const codes = new Map<string, string>();
  const marks = new Map<Style, readonly [string, string]>();
  for (const [at, style] of styles.entries()) {
    const both = [0, 1].map((end) => word + String.fromCharCode(firstMark + at * 2 + end));
    for (const [end, mark] of both.entries()) codes.set(mark, `\u001B[${inspect.colors[style]?.[end]}m`);
    marks.set(style, [both[0] ?? "", both[1] ?? ""]);
  }
  const ours = new RegExp(`${word}.`, "g");
  return {
    mark: (names: Style | readonly Style[], text: string) =>
      [names].flat().reduceRight((inner, name) => {
        const [begin, end] = marks.get(name) ?? ["", ""];
        return begin + inner + end;
      }, text),
    toTerminal: (text: string) =>
      visible(text)
        .replace(ours, (mark) => codes.get(mark) ?? "")
        .replace(noncharacters, ""),
  };
}

/** A text without marks of style. */
export function withoutMarks(text: string): string {
  return text.replace(noncharacters, "");
}

/** For `JSON.stringify`: the style of every `--json`. Members have names in snake_case, and IDEs today's names. */
function inJsonStyle(key: string, value: unknown): unknown {
  if (key === "ide" || key === "variant") return typeof value === "string" ? ideName(value) : value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), member]));
}

/** Only our own names: a name that is a text of others (an id, a path) stays. */
function snakeCase(name: string): string {
  return /^[a-z]+(?:[A-Z][a-z0-9]*)+$/.test(name)
    ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : name;
}
