import { accessSync, constants, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Why this user cannot use a file, and what mends it. `cannot`: which use of it fails. */
export interface Barrier {
  readonly cannot: "read" | "written";
  readonly why: string;
  readonly hint: string;
}

/**
 * What keeps this user from a file: a folder on the way that the user may not enter, the file itself, or the folder where the file, or a
 * folder on the way to it, would be made. Looked for again, because the system's error names none of them. Undefined if nothing does, and on Windows, which
 * answers `access` without its access lists.
 */
export function barrierTo(file: string, platform: string = process.platform): Barrier | undefined {
  if (platform === "win32") return undefined;
  const folders = foldersTo(file);
  const closed = folders.find((each) => isFolder(each) && isRefused(each, constants.X_OK));
  if (closed !== undefined) return barrier("read", `you may not enter ${closed}`, closed);
  if (isRefused(file, isFolder(file) ? constants.R_OK | constants.X_OK : constants.R_OK))
    return barrier("read", "you may not read it", file);
  const folder = folders.findLast(isFolder) ?? dirname(file);
  if (isRefused(folder, constants.W_OK)) return barrier("written", `you may not write to ${folder}`, folder);
  return isRefused(file, constants.W_OK) ? barrier("written", "you may not write to it", file) : undefined;
}

/** What to type to see who may use a file or a folder. */
export function lookAt(path: string, platform: string = process.platform): string {
  return platform === "win32"
    ? `\`icacls ${word(path)}\` shows who may use it.`
    : `\`ls -ld ${word(path)}\` shows whose it is.`;
}

/** A path as a shell takes it. */
function word(path: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path}"`;
}

/** What to type so that only this user may use a file (`600`) or a folder (`700`). */
export function keepToYourself(path: string, mode: "600" | "700" | "go-w"): string {
  return `Run \`chmod ${mode} ${word(path)}\`.`;
}

function barrier(cannot: Barrier["cannot"], why: string, path: string): Barrier {
  const isOwn = statOf(path)?.uid === process.getuid?.();
  const hint = isOwn
    ? `Run \`chmod u+rwX ${word(path)}\`.`
    : `It belongs to another user: ${lookAt(path)} Make it yours. For Millrace's own files you can set MILLRACE_HOME to a folder of yours.`;
  return { cannot, why, hint };
}

/** Every folder above a file, the topmost first. */
function foldersTo(file: string): readonly string[] {
  const above = dirname(file);
  return above === file ? [] : [...foldersTo(above), above];
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true;
}

function isRefused(path: string, use: number): boolean {
  try {
    accessSync(path, use);
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // fs throws nothing else
    return code === "EACCES" || code === "EPERM";
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // not there, or its folder is closed
  }
}
