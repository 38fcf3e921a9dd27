import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { MillraceError } from "../../base/errors.ts";
import { removeEmptyFolders } from "../../base/node/remove-empty-folders.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { applyFileEdit, type FileEdit, revertFileEdit } from "./file-edit.ts";
import { recordFile } from "./set-up-clients.ts";

/** A change of one file: its current text and its new text. `before` undefined: there is no such file. */
export interface PlannedChange {
  readonly edit: FileEdit;
  readonly before: string | undefined;
  readonly after: string;
}

/** The changes that were made for a client, kept so that they can be undone. */
interface AppliedChange {
  readonly files: readonly {
    readonly edit: FileEdit;
    /** The file before the first change; null if there was none. */
    readonly before: string | null;
    readonly afterDigest: string;
  }[];
}

/** The changes that the edits would make to the files. Changes nothing. Throws `invalid_request` for a file that is damaged. */
export function planChanges(edits: readonly FileEdit[]): readonly PlannedChange[] {
  return edits.map((edit) => {
    const before = readText(edit.file);
    return { edit, before, after: applyFileEdit(before ?? "", edit) };
  });
}

/** Writes the changes, atomically file by file. A record of the earlier content is in Millrace's own folder first. */
export function applyChanges(folder: string, client: string, changes: readonly PlannedChange[]): void {
  const earlier = readApplied(folder, client);
  const files = changes.map(({ edit, before, after }) => {
    const known = earlier?.files.find((file) => file.edit.file === edit.file);
    const untouched = known !== undefined && before !== undefined && known.afterDigest === digest(before);
    return { edit, before: untouched ? known.before : (before ?? null), afterDigest: digest(after) };
  });
  writeAtomically(recordFile(folder, client), `${JSON.stringify({ files } satisfies AppliedChange, null, 2)}\n`, 0o600);
  for (const { edit, after } of changes) writeAtomically(edit.file, after, undefined);
}

/** The changes that an undo would make to the files. Throws `invalid_request` when nothing was set up. */
export function planUndo(folder: string, client: string): readonly PlannedChange[] {
  const applied = readApplied(folder, client);
  if (applied === undefined) {
    throw new MillraceError("invalid_request", `Nothing was set up for ${client} here.`, {
      hint: `\`millrace setup ${client}\` sets it up.`,
    });
  }
  return applied.files.map(({ edit, before, afterDigest }) => {
    const now = readText(edit.file);
    if (now === undefined || digest(now) === afterDigest) return { edit, before: now, after: before ?? "" };
    return { edit, before: now, after: revertFileEdit(now, edit, before ?? "") };
  });
}

/** Whether it was set up, and not taken back. */
export function isSetUp(folder: string, client: string): boolean {
  return existsSync(recordFile(folder, client));
}

/** Takes the changes back; a file that was not there before is removed again, with the folders of `home` that are empty then. */
export function undoChanges(
  { folder, home }: { readonly folder: string; readonly home: string },
  client: string,
  changes: readonly PlannedChange[],
): void {
  const applied = readApplied(folder, client);
  for (const { edit, before, after } of changes) {
    const wasThere = applied?.files.find((file) => file.edit.file === edit.file)?.before !== null;
    if (before === undefined) continue;
    if (wasThere || after.trim() !== "") writeAtomically(edit.file, after, undefined);
    else {
      rmSync(edit.file, { force: true });
      removeEmptyFolders(dirname(edit.file), home);
    }
  }
  rmSync(recordFile(folder, client), { force: true });
}

function readApplied(folder: string, client: string): AppliedChange | undefined {
  const text = readText(recordFile(folder, client));
  return text === undefined ? undefined : (JSON.parse(text) as AppliedChange); // only written above, whole or not at all
}

function readText(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Through a link to the file it points at; an existing file keeps its mode. */
function writeAtomically(file: string, text: string, mode: number | undefined): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  const keptMode = existsSync(target) ? statSync(target).mode & 0o777 : (mode ?? 0o644);
  mkdirSync(dirname(target), { recursive: true });
  replaceFileSync(target, text, keptMode);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
