import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { MillraceError, toMillraceError } from "../errors.ts";
import { barrierTo, lookAt } from "./file-access.ts";

const writable =
  "Make it writable. For Millrace's own files you can set MILLRACE_HOME to a folder that you can write to.";
const temporary = "Set TMPDIR to a folder that you can write to.";
const space = "Free some space, then try again.";
/** The hint says who may use the file, unless the barrier on the way to it was found. */
const refused = "";
const files = "Raise the limit (`ulimit -n 4096`), or end programs that keep many files open.";
const place = "Remove that file. For Millrace's own files you can set MILLRACE_HOME to another folder.";
/** Windows gives the same codes for a file that another program has open. */
const open = [
  "you may not write there, or another program has it open",
  "Close other programs that use it, then try again.",
] as const;
const reasonsOfWindows: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EACCES: open,
  EPERM: open,
  EBUSY: open,
  EMFILE: ["this process has too many files open", "End programs that keep many files open."],
};
const reasons: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  "ENOENT of mkdtemp": ["its folder is missing", temporary],
  "EROFS of mkdtemp": ["the disk is read-only", temporary],
  "EACCES of mkdtemp": ["you may not write there", temporary],
  EROFS: ["the disk is read-only", writable],
  "ENOENT of mkdir": ["the disk may be read-only", writable],
  ENOSPC: ["the disk is full", space],
  EDQUOT: ["your disk quota is used up", space],
  EFBIG: ["the file is larger than this system lets it be", space],
  EACCES: ["you may not write there", refused],
  EPERM: ["you may not write there", refused],
  EMFILE: ["this process has too many files open", files],
  ENFILE: ["this machine has too many files open", files],
  EIO: ["the disk reports an error", "Look at the disk: the system's log has more."],
  EISDIR: ["a folder stands where a file must be", "Move that folder away, then try again."],
  ELOOP: ["links on the way to it lead to themselves", "Remove such a link, then try again."],
  ENAMETOOLONG: ["the path is too long", "For Millrace's own files you can set MILLRACE_HOME to a shorter path."],
  ENOTCONN: ["the disk is not connected", "Connect or mount it, then try again."],
  ENOTDIR: ["a file stands where a folder must be", place],
  "EEXIST of mkdir": ["a file stands where a folder must be", place],
};

/** System calls on files; the others (a socket, a signal, a program that is started) fail with the same codes for other reasons. */
const fileCalls =
  /^(f?(sync|datasync|truncate|chmod|chown|utimes|stat)|l?stat|statfs|access|open|close|read|write|writev|mkdir|mkdtemp|rename|unlink|rm|rmdir|link|symlink|copyfile|readlink|realpath|scandir|opendir|utime|lutime)$/;
const looks = /^(scandir|opendir|read|l?stat|fstat|statfs|readlink|realpath)$/;

/**
 * What a failure of the file system means to the user: a full or read-only disk, too many open files, or a folder of somebody else's.
 * Undefined for anything else, which may be a bug. Node reports a folder that cannot be made on a read-only disk as ENOENT of mkdir.
 * A write through an open descriptor names no file: `file` does then.
 */
export function fileProblem(
  error: unknown,
  file = "A file of Millrace",
  platform: string = process.platform,
): MillraceError | undefined {
  const found = reasonOf(error, file, platform);
  if (found === undefined) return undefined;
  const { path, cannot, why, hint } = found;
  return new MillraceError("degraded", `${path} cannot be ${cannot}: ${why}.`, { hint, cause: error });
}

function reasonOf(error: unknown, file: string, platform: string) {
  if (!(error instanceof Error)) return undefined;
  const { code = "", syscall = "", path: named = file, dest: path = named } = error as SystemError; // of the file system
  const reason =
    reasons[`${code} of ${syscall}`] ?? (platform === "win32" ? reasonsOfWindows[code] : undefined) ?? reasons[code];
  if (reason === undefined || !fileCalls.test(syscall)) return undefined;
  const [why, hint] = reason;
  const barrier = hint === refused ? barrierTo(path, platform) : undefined;
  if (barrier !== undefined) return { path, ...barrier };
  const cannot = looks.test(syscall) ? "read" : "written";
  const shown = cannot === "read" ? why.replace("write", "read") : why;
  return { path, cannot, why: shown, hint: hint === refused ? lookAt(nearest(path), platform) : hint };
}

/** The path, or the folder above it that is there. */
function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

type SystemError = NodeJS.ErrnoException & { readonly dest?: string };

/**
 * The error for a person. Where the file system is the cause, also the cause of a cause, it says the reason and what to do: an error that
 * names only what failed gets both.
 */
export function withFileReason(error: unknown, file: string): MillraceError {
  const own = fileProblem(error, file);
  if (own !== undefined) return own;
  const known = toMillraceError(error);
  if (known.code !== "degraded" && known.code !== "internal") return known;
  let { cause } = known;
  while (cause instanceof Error && fileProblem(cause, file) === undefined) ({ cause } = cause);
  const reason = fileProblem(cause, file);
  const why = reasonOf(cause, file, process.platform)?.why ?? "";
  if (reason === undefined || known.message.includes(why)) return known;
  if (known.code === "internal") return reason;
  return new MillraceError(known.code, `${known.message} ${reason.message}`, { hint: reason.hint, cause: known });
}
