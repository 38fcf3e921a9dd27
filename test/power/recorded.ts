import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Step, traced } from "./trace.ts";

/** What a gateway's log does to its disk in about so many appends, created turns, messages and cancels. */
export function recordedLog(seed: number, writes: number): Promise<readonly Step[]> {
  return recorded("log-writer.ts", (folder) => [join(folder, "log.db"), String(seed), String(writes)]);
}

/** What a client does to its disk that stores each of three records so often. */
export function recordedRecords(times: number): Promise<readonly Step[]> {
  return recorded("record-writer.ts", (folder) => [folder, String(times)]);
}

async function recorded(module: string, argumentsFor: (folder: string) => readonly string[]): Promise<readonly Step[]> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-recorded-"));
  try {
    return await traced(join(import.meta.dirname, module), argumentsFor(folder), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
