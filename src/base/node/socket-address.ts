import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, readlinkSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { removeSync } from "./move-file.ts";

/** The longest path of a socket that every system takes; bytes: it is cut off or refused from 104 on macOS, and from 108 on Linux. */
export const longestSocket = 103;

/**
 * A path by which a socket can be reached whose own path is too long: through a link to its folder in the folder for temporary files.
 * The socket stays in its own folder, so that folder's mode protects it. Throws where there can be no such link.
 */
export function socketAddress(file: string): string {
  const { address, link } = shortPath(file);
  if (address === undefined) throw new Error(`the path of ${file} is too long for a socket`);
  if (link !== undefined) makeLink(link, dirname(file));
  return address;
}

/** Where `socketAddress` finds the file; `address` is undefined where the folder for temporary files is too far down too. Makes nothing. */
export function shortPath(
  file: string,
  temporary = tmpdir(),
): { readonly address: string | undefined; readonly link: string | undefined } {
  const isShort = (path: string) => Buffer.byteLength(path) <= longestSocket;
  if (isShort(file)) return { address: file, link: undefined };
  const link = linksTo(dirname(file), temporary).find(
    (each) => isShort(join(each, basename(file))) && mayWriteIn(dirname(each)),
  );
  return { address: link && join(link, basename(file)), link };
}

function linksTo(folder: string, temporary: string): readonly string[] {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  return [temporary, "/tmp"].map((each) => join(each, `millrace-${name}`));
}

/** Removes the links to this folder that `socketAddress` made. */
export function removeLinks(folder: string, temporary = tmpdir()): void {
  for (const link of linksTo(folder, temporary)) if (isOwnLink(link, folder)) removeSync(link);
}

function isOwnLink(link: string, folder: string): boolean {
  const stats = lstatSync(link, { throwIfNoEntry: false });
  return stats?.isSymbolicLink() === true && stats.uid === process.getuid?.() && readlinkSync(link) === folder;
}

function mayWriteIn(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Others may write into that folder: a link counts only if it is this user's and leads to the right place. */
function makeLink(link: string, folder: string): void {
  try {
    symlinkSync(folder, link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if (!isOwnLink(link, folder)) throw new Error(`${link} is not this program's`);
}
