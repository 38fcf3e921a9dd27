import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Whether this user may mount a file system here; tests that need a small one are skipped without it. */
export const mayMount = (() => {
  if (process.platform !== "linux") return false;
  const folder = mkdtempSync(join(tmpdir(), "millrace-mount-"));
  try {
    return mount(folder, 1) && spawnSync("umount", [folder]).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
})();

/** A file system of its own with so many megabytes, that can be filled to its last byte and emptied again. */
export interface SmallDisk {
  readonly folder: string;
  fill(): void;
  free(): void;
  /** Whether it refuses every write. What is open for writing must be closed before. */
  readOnly(refuses: boolean): void;
}

/** One for a test, unmounted after it. */
export function smallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "millrace-disk-"));
  if (!mount(folder, megabytes)) throw new Error(`${folder} cannot be mounted`);
  onTestFinished(() => {
    spawnSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  const filler = join(folder, "filler");
  return {
    folder,
    fill() {
      const file = openSync(filler, "a");
      try {
        for (let size = 1 << 16; size >= 1; ) {
          try {
            writeSync(file, Buffer.alloc(size));
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
            size >>= 1;
          }
        }
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    readOnly(refuses) {
      const mode = refuses ? "remount,ro" : "remount,rw";
      const { status, stderr } = spawnSync("mount", ["-o", mode, folder], { encoding: "utf8" });
      if (status !== 0) throw new Error(`${folder} cannot be mounted anew: ${stderr}`);
    },
  };
}

function mount(folder: string, megabytes: number): boolean {
  return spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]).status === 0;
}
