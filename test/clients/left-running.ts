import { readdirSync, readFileSync } from "node:fs";

/** Ends the processes that a client left running: those whose environment names its home, which no other has. On Linux only. */
export function endLeftRunning(home: string): void {
  for (const pid of pids()) {
    if (!environmentOf(pid).includes(`HOME=${home}`)) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  }
}

function pids(): readonly number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return []; // no such folder here
  }
}

function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return []; // it has ended, or is somebody else's
  }
}
