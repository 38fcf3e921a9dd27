import { MillraceError } from "../errors.ts";

const writable = "Make it writable, or set MILLRACE_HOME to a folder that you can write to.";
const reasons: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EROFS: ["the disk is read-only", writable],
  "ENOENT of mkdir": ["the disk may be read-only", writable],
  ENOSPC: ["the disk is full", "Free some space, then try again."],
  EDQUOT: ["your disk quota is used up", "Free some space, then try again."],
  EACCES: ["you may not write there", "Look at its folder with `ls -ld`. It must be yours."],
  EPERM: ["you may not write there", "Look at its folder with `ls -ld`. It must be yours."],
};

/**
 * What a failed write means to the user: a full or read-only disk, or a folder of somebody else's. Undefined for anything else, which
 * may be a bug. Node reports a folder that cannot be made on a read-only disk as ENOENT of mkdir.
 */
export function fileProblem(error: unknown): MillraceError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = "", syscall, path } = error as NodeJS.ErrnoException; // the file system's errors have these
  const reason = reasons[code === "ENOENT" && syscall === "mkdir" ? "ENOENT of mkdir" : code];
  if (reason === undefined || path === undefined) return undefined;
  const [why, hint] = reason;
  return new MillraceError("degraded", `${path} cannot be written: ${why}.`, { hint, cause: error });
}
