import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { applyPatch, structuredPatch } from "diff";
import { applyEdits, modify, type ParseError, parse, parseTree } from "jsonc-parser";
import { parseDocument } from "yaml";
import { MillraceError } from "../../base/errors.ts";
import { removeSync } from "../../base/node/move-file.ts";
import { removeEmptyFolders } from "../../base/node/remove-empty-folders.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { FileEdit, Path, SetValue } from "./client.ts";
import { recordFile } from "./installed.ts";
import { writeYaml } from "./yaml-text.ts";

/** A change of one file: its current text and its new text. `before` undefined: there is no such file. */
export interface PlannedChange {
  readonly edit: FileEdit;
  readonly before: string | undefined;
  readonly after: string;
}

/** The changes that were made for a client, kept so that they can be undone. */
interface AppliedChange {
  readonly files: readonly AppliedFile[];
}

interface AppliedFile {
  readonly edit: FileEdit;
  /** The file before the first change; null if there was none. */
  readonly before: string | null;
  readonly afterDigest: string;
  /** The file's mode before a key stood in it. */
  readonly mode?: number;
}

/**
 * The changes that the edits would make to the files, which begin from the files without the changes of an earlier setup. Changes nothing.
 * Throws `invalid_request` for a file that is damaged.
 */
export function planChanges(folder: string, client: string, edits: readonly FileEdit[]): readonly PlannedChange[] {
  const earlier = readApplied(folder, client);
  return edits.map((edit) => {
    const before = readText(edit.file);
    return { edit, before, after: applyFileEdit(withoutOurs(earlier, edit.file, before) ?? "", edit) };
  });
}

/** Writes the changes, atomically file by file. A record of the earlier content is in Millrace's own folder first. */
export function applyChanges(folder: string, client: string, changes: readonly PlannedChange[]): void {
  const earlier = readApplied(folder, client);
  const files = [
    ...(earlier?.files ?? []).filter((known) => changes.every(({ edit }) => edit.file !== known.edit.file)),
    ...changes.map(({ edit, before, after }) => {
      const mode = earlier?.files.find((known) => known.edit.file === edit.file)?.mode ?? modeOf(edit.file);
      return {
        edit,
        before: withoutOurs(earlier, edit.file, before) ?? null,
        afterDigest: digest(after),
        ...(edit.isSecret && mode !== undefined ? { mode } : {}),
      };
    }),
  ];
  writeAtomically(recordFile(folder, client), `${JSON.stringify({ files } satisfies AppliedChange, null, 2)}\n`, 0o600);
  let isUndoable = earlier !== undefined;
  try {
    for (const { edit, before, after } of changes) {
      if (!edit.isSecret && after === (before ?? "")) continue;
      writeAtomically(edit.file, after, edit.isSecret ? 0o600 : undefined);
      isUndoable = true;
    }
  } catch (error) {
    if (!isUndoable) removeSync(recordFile(folder, client)); // nothing was changed
    throw error;
  }
}

/** The changes that an undo would make to the files. Throws `invalid_request` when nothing was set up. */
export function planUndo(folder: string, client: string): readonly PlannedChange[] {
  const applied = readApplied(folder, client);
  if (applied === undefined) {
    throw new MillraceError("invalid_request", `Nothing was set up for ${client} here.`, {
      hint: `\`millrace setup ${client}\` sets it up.`,
    });
  }
  return applied.files.map(({ edit }) => {
    const before = readText(edit.file);
    return { edit, before, after: withoutOurs(applied, edit.file, before) ?? "" };
  });
}

/** A file's text `now` without the changes of an earlier setup; undefined without a file, also where the setup made it. */
function withoutOurs(applied: AppliedChange | undefined, file: string, now: string | undefined): string | undefined {
  const known = applied?.files.find(({ edit }) => edit.file === file);
  if (known === undefined || now === undefined) return now;
  if (digest(now) === known.afterDigest) return known.before ?? undefined;
  const rest = unpatched(now, known) ?? revertFileEdit(now, known.edit, known.before ?? "");
  return rest.trim() === "" && known.before === null ? undefined : rest;
}

/** The text without the lines of our change, as they were before; undefined if somebody changed these lines or those beside them. */
function unpatched(now: string, { edit, before, afterDigest }: AppliedFile): string | undefined {
  const ours = applyFileEdit(before ?? "", edit);
  if (digest(ours) !== afterDigest) return undefined; // an earlier build wrote it
  const patch = structuredPatch("", "", ours, before ?? "", "", "", { context: 1 });
  return applyPatch(now, patch, { autoConvertLineEndings: false }) || undefined;
}

/** Takes the changes back; a file that was not there before is removed again, with the folders of `home` that are empty then. */
export function undoChanges(
  { folder, home }: { readonly folder: string; readonly home: string },
  client: string,
  changes: readonly PlannedChange[],
): void {
  const applied = readApplied(folder, client);
  for (const { edit, before, after } of changes) {
    const known = applied?.files.find((file) => file.edit.file === edit.file);
    if (before === undefined) continue;
    if (known?.before !== null || after.trim() !== "") writeAtomically(edit.file, after, known?.mode);
    else {
      removeSync(placeOf(edit.file));
      removeEmptyFolders(dirname(edit.file), home);
    }
  }
  removeSync(recordFile(folder, client));
}

function readApplied(folder: string, client: string): AppliedChange | undefined {
  const text = readText(recordFile(folder, client));
  return text === undefined ? undefined : (JSON.parse(text) as AppliedChange); // only written above, whole or not at all
}

function readText(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** The file itself, or the one that a link stands for, also where that one is not there yet. */
function placeOf(file: string): string {
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? placeOf(resolve(dirname(file), readlinkSync(file))) : file;
}

/** Through a link to the file it points at. Without a mode an existing file keeps its own. */
function writeAtomically(file: string, text: string, mode: number | undefined): void {
  const target = placeOf(file);
  mkdirSync(dirname(target), { recursive: true });
  replaceFileSync(target, text, mode ?? modeOf(target) ?? 0o644);
}

function modeOf(file: string): number | undefined {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const byteOrderMark = "\uFEFF";
const blockStart = "# >>> millrace";
const blockEnd = "# <<< millrace";
const ourBlock = new RegExp(`(^|\\n)\\n?${blockStart}[^]*?${blockEnd}\\n?`);

/** The file after the change; comments and everything else stay. Throws `invalid_request` when it cannot be parsed. */
export function applyFileEdit(text: string, edit: FileEdit): string {
  return inItsForm(text, (plain) => {
    if (edit.kind !== "block") return edit.set.reduce((current, value) => withValue(current, value, edit), plain);
    const rest = plain.replace(ourBlock, "$1").trimEnd();
    return `${rest === "" ? "" : `${rest}\n\n`}${[blockStart, ...edit.lines, blockEnd].join("\n")}\n`;
  });
}

/** Changes a text without its byte order mark and with lines that end in "\n". The outcome has both again as the text has them. */
function inItsForm(text: string, change: (plain: string) => string): string {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  const isOfWindows = text.includes("\r\n") && !/[^\r]\n/.test(text);
  const plain = text.slice(mark.length);
  return mark + (isOfWindows ? change(plain.replaceAll("\r\n", "\n")).replaceAll("\n", "\r\n") : change(plain));
}

/** Undoes a change in a file that was changed further since; `before` is the file's first content. */
function revertFileEdit(changed: string, edit: FileEdit, before: string): string {
  return inItsForm(changed, (text) => reverted(text, edit, before.replace(byteOrderMark, "")));
}

function reverted(text: string, edit: FileEdit, before: string): string {
  if (edit.kind === "block") return text.replace(ourBlock, "$1").replace(/^\n+/, "");
  return edit.set.toReversed().reduce((current, set) => {
    const { path, key, unlessThere, ifThere } = set;
    const previous = valueAt(before, path, edit);
    if (unlessThere === true && previous !== undefined) return current; // never ours
    if (ifThere === true && previous === undefined) return current;
    if (key === undefined) return withoutEmpty(writeValue(current, path, previous, edit), path, edit, before);
    const list = valueAt(current, path, edit);
    const others = Array.isArray(list) ? list.filter((item) => !isEntry(item, set)) : [];
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

/** The text with one value set; a value with a key replaces the entry of a list that has the same key, or becomes its last one. */
function withValue(text: string, set: SetValue, edit: FileEdit): string {
  const { path, value, key, unlessThere, ifThere } = set;
  const present = valueAt(text, path, edit);
  if ((unlessThere === true && present !== undefined) || (ifThere === true && present === undefined)) return text;
  if (key === undefined) return writeValue(text, path, value, edit);
  if (!Array.isArray(present)) return writeValue(text, path, [value], edit);
  const at = present.findIndex((item) => isEntry(item, set));
  return writeValue(text, [...path, at >= 0 ? at : present.length], value, edit);
}

function writeValue(text: string, path: Path, value: unknown, edit: FileEdit): string {
  const { kind, file } = edit;
  for (const [i, step] of path.entries()) {
    const holder = valueAt(text, path.slice(0, i), edit);
    if (holder === undefined || (holder === null && kind === "yaml")) break; // it is made
    if (typeof holder !== "object" || holder === null || Array.isArray(holder) !== (typeof step === "number"))
      throw unreadable(file, `form of settings (\`${path.slice(0, i).join(".")}\` has another type)`);
  }
  if (kind === "json") {
    const whole = text.trim() === "" ? "{}\n" : text;
    return applyEdits(whole, modify(whole, [...path], value, formatting(whole)));
  }
  return writeYaml(text, path, value);
}

function valueAt(text: string, path: Path, { kind, file }: FileEdit): unknown {
  let value: unknown = kind === "json" ? jsonOf(text, file) : yamlOf(text, file).toJS();
  for (const step of path)
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[step] : undefined; // lists too
  return value;
}

function formatting(text: string) {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return {
    formattingOptions: {
      insertSpaces: !indent.startsWith("\t"),
      tabSize: indent.length,
      eol: "\n",
    },
  };
}

function isEntry(item: unknown, { value, key, formerly = [] }: SetValue): boolean {
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
