import { isDeepStrictEqual } from "node:util";
import { parse, stringify } from "smol-toml";
import { MillraceError } from "../../base/errors.ts";
import type { SettingValue } from "./config-schema.ts";

/**
 * The text with one key of one table set, or removed if `value` is undefined; comments and all else stay. The result is parsed and
 * compared with the intended settings.
 *
 * @throws MillraceError `invalid_request` if a line of the file cannot be changed on its own.
 */
export function editToml(text: string, table: string, key: string, value: SettingValue | undefined): string {
  const wanted = plain(parse(text));
  const { [key]: _, ...others } = wanted[table] ?? {};
  wanted[table] = value === undefined ? others : { ...others, [key]: value };
  const edited = withLine(text, table, key, value);
  try {
    const got = plain(parse(edited));
    got[table] ??= {};
    if (isDeepStrictEqual(got, wanted)) return edited;
  } catch {
    // reported below
  }
  throw new MillraceError("invalid_request", `${key} of [${table}] cannot be changed by itself in this file.`, {
    hint: "Change it in an editor. `millrace config path` prints where the file is.",
  });
}

/** Objects of one kind, which can be compared. */
function plain(table: unknown): Record<string, Record<string, unknown> | undefined> {
  return JSON.parse(JSON.stringify(table)) as Record<string, Record<string, unknown> | undefined>; // a file's top holds tables
}

function withLine(text: string, table: string, key: string, value: SettingValue | undefined): string {
  const lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
  const line = value === undefined ? [] : [stringify({ [key]: value }).trimEnd()];
  const header = lines.findIndex((each) => each.replace(/\s*#.*$/, "").trim() === `[${table}]`);
  if (header < 0) {
    const gap = lines.length > 0 && line.length > 0 ? [""] : [];
    return finished([...lines, ...gap, ...(line.length > 0 ? [`[${table}]`, ...line] : [])]);
  }
  const next = lines.findIndex((each, at) => at > header && /^\s*\[/.test(each));
  const end = next < 0 ? lines.length : next;
  const at = lines.findIndex((each, index) => index > header && index < end && each.split("=", 1)[0]?.trim() === key);
  // With its last setting the table goes too; not with a comment of the user.
  const rest = lines.slice(header, end).filter((each, index) => header + index !== at && each.trim() !== "");
  if (at >= 0 && line.length === 0 && rest.length === 1 && rest[0] === `[${table}]`)
    return finished(lines.toSpliced(header, end - header));
  if (at >= 0) return finished(lines.toSpliced(at, 1, ...line));
  return finished(lines.toSpliced(header + 1, 0, ...line));
}

function finished(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
