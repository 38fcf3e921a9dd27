import { readFileSync } from "node:fs";
/** Whether a process with this id exists, of any user. Another process may have got the id since. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // it exists, and is another user's
  }
}

/** Whether a process runs. One that has ended, and that its parent has not collected, still has its id on Linux, and does not run. */
export function processRuns(pid: number): boolean {
  if (!processExists(pid)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return processExists(pid); // not Linux, or just gone
  }
}
