import { existsSync } from "node:fs";
import { homedir } from "node:os";
import process from "node:process";
import { type ResourceLimits, Worker } from "node:worker_threads";

/**
 * Starts a thread that runs the script `name` beside the module of this URL; what it prints is kept from the terminal. In a working folder that
 * was removed no thread can start (measured, Node 24), so the process leaves it first.
 */
export function startThread(
  name: string,
  beside: string,
  { data, resourceLimits }: { readonly data: unknown; readonly resourceLimits: ResourceLimits },
): Worker {
  leaveRemovedFolder();
  const extension = beside.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./${name}.${extension}`, beside);
  return new Worker(script, { workerData: data, resourceLimits, stdout: true, stderr: true });
}

function leaveRemovedFolder(): void {
  try {
    if (existsSync(process.cwd())) return;
  } catch {} // it was removed before this process asked for it
  process.chdir(existsSync(homedir()) ? homedir() : "/");
}
