import { readdirSync, readFileSync } from "node:fs";

/**
 * How long the threads of these processes have waited for a processor since they began; ms. On an idle machine it hardly grows.
 * Undefined where the system does not tell it (Linux only).
 */
export function processorWaitMs(pids: readonly number[]): number | undefined {
  try {
    return pids.flatMap(threadsOf).reduce((sum, file) => sum + waitIn(file), 0);
  } catch {
    return undefined;
  }
}

function threadsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`);
}

/** The second number of the file; ns. A thread that has ended has none. */
function waitIn(file: string): number {
  try {
    return Number(readFileSync(file, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
