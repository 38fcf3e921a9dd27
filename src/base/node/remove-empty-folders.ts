import { rmdirSync } from "node:fs";
import { dirname, sep } from "node:path";

/** Removes this folder if it is empty, then the one above it, and so on. `top` and all that is not below it stay. */
export function removeEmptyFolders(folder: string, top: string): void {
  for (let at = folder; at.startsWith(`${top}${sep}`); at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return; // it holds something, or is not there
    }
  }
}
