import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { type LogSize, logSizeOf } from "./log-size.ts";

/** What a gateway holds while no turn runs. */
export interface Footprint extends LogSize {
  /** In use after a garbage collection. */
  readonly heapMiB: number;
  /** Resident, before that collection: what a task manager shows. */
  readonly residentMiB: number;
  readonly handles: number;
  readonly files: number;
  readonly sockets: number;
}

const mib = (bytes: number) => bytes / 2 ** 20;

/** The log of a gateway with this home. */
export function logFileOf(home: string): string {
  return join(home, ".millrace", "turns.db");
}

/** Asks a gateway that was started with `tell-memory.ts` and that file. Linux only: the rest is read from `/proc`. */
export async function footprintOf({ pid }: GatewayProcess, memoryFile: string, home: string): Promise<Footprint> {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const residentMiB = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  rmSync(memoryFile, { force: true });
  process.kill(pid, "SIGUSR2");
  while (!existsSync(memoryFile)) {
    process.kill(pid, 0); // throws when the process is gone, so that nobody waits for ever
    await wait(20);
  }
  const { heapBytes, handles } = JSON.parse(readFileSync(memoryFile, "utf8")) as {
    readonly heapBytes: number;
    readonly handles: number;
  };
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const sockets = open.filter((target) => target.startsWith("socket:")).length;
  return {
    heapMiB: mib(heapBytes),
    residentMiB,
    handles,
    files: open.length - sockets,
    sockets,
    ...logSizeOf(logFileOf(home)),
  };
}

/** Where a descriptor leads; nothing where it was closed since. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** All files of a folder, however deep. A file that goes meanwhile has no size. */
export function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, entry) => sum + (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
}
