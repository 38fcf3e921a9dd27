import { readFileSync } from "node:fs";

/**
 * How long the main threads of these processes have waited for a processor since they began; ms. On an idle machine it hardly
 * grows. Undefined if the system does not report it: only Linux does.
 */
export function processorWaitMs(pids: readonly number[]): number | undefined {
  try {
    return pids.reduce((sum, pid) => sum + waitIn(`/proc/${pid}/schedstat`), 0);
  } catch {
    return undefined;
  }
}

/** The second number of the file; ns. */
function waitIn(file: string): number {
  return Number(readFileSync(file, "utf8").split(" ")[1]) / 1e6;
}
