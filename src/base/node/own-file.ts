import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { barrierTo, keepToYourself, lookAt } from "./file-access.ts";

/** Why a file of secrets cannot be used, and the command that mends it. */
export class UnusableFile extends Error {
  readonly todo: string;

  constructor(why: string, todo: string, cause?: unknown) {
    super(why, { cause });
    this.todo = todo;
  }
}

/**
 * The text of a file that only this user may read and replace; undefined if there is none. Links are not followed. Windows has no
 * modes and no user ids here, so there the file is only read.
 *
 * @throws UnusableFile if it belongs to another user, others may read it, others may replace it in its folder, or it cannot be read.
 */
export function readOwnFile(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined; // fs throws nothing else
    const { why, hint } = barrierTo(file) ?? unknownBarrier(file);
    throw new UnusableFile(why, hint, error);
  }
  try {
    if (process.platform !== "win32") checkOwner(file, fstatSync(descriptor));
    return readFileSync(descriptor, "utf8");
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    const { why, hint } = unknownBarrier(file);
    throw new UnusableFile(why, hint, error);
  } finally {
    closeSync(descriptor);
  }
}

function unknownBarrier(file: string) {
  return { why: "it cannot be read", hint: `${lookAt(file)} It must be a file of yours, not a link or a folder.` };
}

const stickyBit = 0o1000;

function checkOwner(file: string, { mode, uid }: Stats): void {
  if (!isOwn(uid)) throw new UnusableFile("it belongs to another user", `${lookAt(file)} Then remove it.`);
  if ((mode & 0o077) !== 0)
    throw new UnusableFile(`others may read it (mode ${(mode & 0o777).toString(8)})`, keepToYourself(file, "600"));
  const folder = dirname(file);
  const of = statSync(folder);
  if (!isOwn(of.uid) && of.uid !== 0)
    throw new UnusableFile(`the folder ${folder} belongs to another user`, "Set MILLRACE_HOME to a folder of yours.");
  if ((of.mode & 0o022) !== 0 && (of.mode & stickyBit) === 0)
    throw new UnusableFile(
      `others may replace it, because they may write to ${folder} (mode ${(of.mode & 0o777).toString(8)})`,
      keepToYourself(folder, "go-w"),
    );
}

function isOwn(uid: number): boolean {
  return uid === process.getuid?.();
}

/** Changes whenever the file is replaced or written; undefined without a file. */
export function fileVersion(file: string): string | undefined {
  try {
    const { ino, mtimeNs, ctimeNs, size } = statSync(file, { bigint: true });
    return `${ino} ${mtimeNs} ${ctimeNs} ${size}`;
  } catch {
    return undefined; // not there, or in a folder that is closed
  }
}
