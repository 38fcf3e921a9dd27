import { statSync } from "node:fs";

/** Windows has no permission bits, and makes symbolic links only for those who may; what rests on either is skipped there. */
export const hasFileModes = process.platform !== "win32";

/** A file's permission bits; where the system has none, `wanted`, so that the rest of a test still runs. */
export function modeOf(path: string, wanted: number): number {
  return hasFileModes ? statSync(path).mode & 0o777 : wanted;
}
