import { readFileSync } from "node:fs";

/** What a process has used since its start. Linux only: read from `/proc`. */
export interface Cost {
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly peakBytes: number;
}

/** Undefined where the system does not tell. */
export function costOf(pid: number): Cost | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]); // utime and stime, of which there are 100 a second
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN);
    return { cpuMs: ticks * 10, residentBytes: kib("VmRSS") * 1024, peakBytes: kib("VmHWM") * 1024 };
  } catch {
    return undefined; // another system, or the process is gone
  }
}

/** Processor time of a process and of those that it started and that run now; ms. NaN where the system does not tell. */
export function cpuWithChildren(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    return [pid, ...children].reduce((sum, each) => sum + (costOf(each)?.cpuMs ?? 0), 0);
  } catch {
    return Number.NaN;
  }
}
