/** Whether a process with this id exists, of any user. Another process may have got the id since. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // it exists, and is another user's
  }
}
