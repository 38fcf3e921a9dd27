import { applyEdits, modify, type ParseError, parse, parseTree } from "jsonc-parser";
import { parseDocument } from "yaml";
import { MillraceError } from "../../base/errors.ts";

type Path = readonly (string | number)[];

/** One value of a configuration file. With `key` the path is a list that gets one entry with that key's value, once. */
export interface SetValue {
  readonly path: Path;
  readonly value: unknown;
  /** `""`: the entry itself is the value (a list of strings). */
  readonly key?: string;
  /** Endings of entries that an earlier setup wrote in its place, such as the path of a folder that has moved. */
  readonly formerly?: readonly string[];
  /** Only where nothing stands there: a file of the user's own keeps its own. */
  readonly unlessThere?: true;
}

/** A change to one configuration file, as data, so that it can be shown, made and taken back. */
export type FileEdit =
  | { readonly kind: "json" | "yaml"; readonly file: string; readonly set: readonly SetValue[] }
  /** Lines of our own between two marks, at the end of the file. */
  | { readonly kind: "block"; readonly file: string; readonly lines: readonly string[] };

const blockStart = "# >>> millrace";
const blockEnd = "# <<< millrace";
const ourBlock = new RegExp(`\\n?${blockStart}[^]*?${blockEnd}\\n?`);

/** The file after the change; comments and everything else stay. Throws `invalid_request` when it cannot be parsed. */
export function applyFileEdit(text: string, edit: FileEdit): string {
  switch (edit.kind) {
    case "json":
      return edit.set.reduce(
        (current, value) => setInJson(current, value, edit.file),
        text.trim() === "" ? "{}\n" : text,
      );
    case "yaml":
      return edit.set.reduce((current, value) => setInYaml(current, value, edit.file), text);
    case "block": {
      const rest = text.replace(ourBlock, "\n").trimEnd();
      return `${rest === "" ? "" : `${rest}\n\n`}${[blockStart, ...edit.lines, blockEnd].join("\n")}\n`;
    }
    default:
      return edit satisfies never;
  }
}

/** Undoes a change in a file that was changed further since; `before` is the file's first content. */
export function revertFileEdit(text: string, edit: FileEdit, before: string): string {
  if (edit.kind === "block") return text.replace(ourBlock, "\n").replace(/^\n+/, "");
  return edit.set.toReversed().reduce((current, { path, value, key, formerly, unlessThere }) => {
    const previous = valueAt(before, path, edit);
    if (unlessThere === true && previous !== undefined) return current; // never ours
    if (key === undefined) return withoutEmpty(writeValue(current, path, previous, edit), path, edit, before);
    const list = valueAt(current, path, edit);
    const others = Array.isArray(list) ? list.filter((item) => !isEntry(item, { value, key, formerly })) : [];
    const rest = others.length === 0 && previous === undefined ? undefined : others;
    return withoutEmpty(writeValue(current, path, rest, edit), path, edit, before);
  }, text);
}

/** The same without empty objects above the path that were not there before. */
function withoutEmpty(text: string, path: Path, edit: FileEdit, before: string): string {
  let current = text;
  for (let length = path.length - 1; length > 0; length--) {
    const parent = path.slice(0, length);
    const value = valueAt(current, parent, edit);
    const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
    if (!isEmpty || valueAt(before, parent, edit) !== undefined) break;
    current = writeValue(current, parent, undefined, edit);
  }
  return current;
}

function writeValue(text: string, path: Path, value: unknown, { kind, file }: FileEdit): string {
  if (kind === "json") return setJson(text, path, value);
  const document = yamlOf(text, file);
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, value);
  return document.toString();
}

function valueAt(text: string, path: Path, { kind, file }: FileEdit): unknown {
  let value: unknown = kind === "json" ? jsonOf(text, file) : yamlOf(text, file).toJS();
  for (const step of path)
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[step] : undefined; // lists too
  return value;
}

function setInJson(text: string, { path, value, key, formerly, unlessThere }: SetValue, file: string): string {
  jsonOf(text, file);
  if (unlessThere === true && valueAt(text, path, { kind: "json", file, set: [] }) !== undefined) return text;
  if (key === undefined) return setJson(text, path, value);
  const list = valueAt(text, path, { kind: "json", file, set: [] });
  if (!Array.isArray(list)) return setJson(text, path, [value]);
  const at = list.findIndex((item) => isEntry(item, { value, key, formerly }));
  if (at >= 0) return setJson(text, [...path, at], value);
  return applyEdits(text, modify(text, [...path, list.length], value, { ...formatting(text), isArrayInsertion: true }));
}

function setJson(text: string, path: Path, value: unknown): string {
  return applyEdits(text, modify(text, [...path], value, formatting(text)));
}

function formatting(text: string) {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return {
    formattingOptions: {
      insertSpaces: !indent.startsWith("\t"),
      tabSize: indent.length,
      eol: text.includes("\r\n") ? "\r\n" : "\n",
    },
  };
}

function setInYaml(text: string, { path, value, key, formerly, unlessThere }: SetValue, file: string): string {
  const document = yamlOf(text, file);
  if (unlessThere === true && document.getIn(path) !== undefined) return text;
  const list: unknown = key === undefined ? undefined : valueAt(text, path, { kind: "yaml", file, set: [] });
  if (key === undefined) document.setIn(path, value);
  else if (Array.isArray(list)) {
    const at = list.findIndex((item) => isEntry(item, { value, key, formerly }));
    document.setIn([...path, at >= 0 ? at : list.length], document.createNode(value));
  } else document.setIn(path, document.createNode([value]));
  return document.toString();
}

interface Entry {
  readonly value: unknown;
  readonly key: string | undefined;
  readonly formerly: readonly string[] | undefined;
}

function isEntry(item: unknown, { value, key, formerly = [] }: Entry): boolean {
  if (typeof item === "string" && formerly.some((ending) => item.endsWith(ending))) return true;
  const of = (entry: unknown) =>
    key === undefined || key === "" || typeof entry !== "object" || entry === null
      ? entry
      : (entry as Record<string, unknown>)[key];
  return of(item) === of(value);
}

function jsonOf(text: string, file: string): unknown {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  if (errors.length > 0 || parseTree(text)?.type !== "object") throw unreadable(file, "JSON object");
  return value;
}

function yamlOf(text: string, file: string) {
  const document = parseDocument(text);
  if (document.errors.length > 0) throw unreadable(file, "YAML");
  return document;
}

function unreadable(file: string, what: string): MillraceError {
  return new MillraceError("invalid_request", `${file} is no valid ${what}; nothing was changed.`, {
    hint: "Correct the file, then try again.",
  });
}
