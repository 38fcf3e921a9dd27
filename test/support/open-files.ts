import { readdirSync, readlinkSync } from "node:fs";
import { sep } from "node:path";
import process from "node:process";

/** The files below a folder that this process has open now. Only Linux says so; elsewhere there are none. */
export function openBelow(folder: string): readonly string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((name) => {
    const path = targetOf(`/proc/self/fd/${name}`);
    return path?.startsWith(`${folder}${sep}`) === true ? [path] : [];
  });
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined; // it was closed meanwhile
  }
}
