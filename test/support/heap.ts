import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, watch } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { patienceMs } from "./world.ts";

/** A picture of what a process holds in its memory, taken by its own engine when the process is told to. */
export async function heapOf(pid: number, folder: string): Promise<string> {
  const watching = watch(folder);
  try {
    const made = once(watching, "change") as Promise<[string, string]>;
    process.kill(pid, "SIGUSR2");
    const [, name] = await made;
    const path = join(folder, name);
    const whole = () => {
      const text = readFileSync(path, "utf8");
      return /[^\\]"\]\s*\}$/.test(text.slice(-100).trimEnd()) ? text : undefined; // the strings come last
    };
    await expect.poll(() => whole() !== undefined, { timeout: patienceMs, interval: 200 }).toBe(true);
    return whole() ?? "";
  } finally {
    watching.close();
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
  }
}
