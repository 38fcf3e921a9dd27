import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Disk, type Loss } from "./disk.ts";
import type { Step } from "./trace.ts";

export interface Losses {
  /** Moments at which the power went. */
  readonly moments: number;
  /** Disks that were left and opened. */
  readonly disks: number;
  /** Of those, with changes lost that were not flushed. */
  readonly lossy: number;
  readonly broken: readonly string[];
}

export interface LossOptions {
  /** How many of all moments are tried, 0 to 1. */
  readonly share: number;
  readonly random: () => number;
  /** What the disk broke, by what was left of the folder and what had been said until then. */
  readonly check: (folder: string, said: readonly string[]) => Promise<readonly string[]>;
  readonly onMoment?: (nth: number, of: number) => void;
}

/**
 * Takes the power away before each of the changes that a process made to its disk, in every way that a disk may lose what was
 * not flushed: all of it, any end of it, any part of it, torn at any sector; and has each disk that is left checked.
 */
export async function losePower(steps: readonly Step[], options: LossOptions): Promise<Losses> {
  const { share, random, check, onMoment = () => {} } = options;
  const folder = join(mkdtempSync(join(tmpdir(), "millrace-power-")), "left");
  const disk = new Disk();
  const said: string[] = [];
  const broken: string[] = [];
  let [moments, disks, lossy] = [0, 0, 0];
  try {
    for (const [i, step] of [...steps, undefined].entries()) {
      const isChange = step === undefined || step.kind !== "said";
      // What was said since the last change counts: the moment just before the next one says the most.
      if (isChange && disk.version > 0 && (share >= 1 || random() < share)) {
        moments++;
        onMoment(i, steps.length);
        for (const loss of disk.unflushed === 0 ? nothingLost : losses(random)) {
          disks++;
          if (disk.unflushed > 0) lossy++;
          disk.leave(loss, folder);
          for (const what of await check(folder, said)) broken.push(`at step ${i}, ${nameOf(loss)}: ${what}`);
        }
      }
      if (step?.kind === "said") said.push(step.line);
      else if (step !== undefined) disk.apply(step);
    }
  } finally {
    rmSync(join(folder, ".."), { recursive: true, force: true });
  }
  return { moments, disks, lossy, broken };
}

const nothingLost: readonly Loss[] = [{ kind: "suffix", kept: 1 }];

function losses(random: () => number): readonly Loss[] {
  return [
    { kind: "suffix", kept: 1 },
    { kind: "suffix", kept: 0 },
    { kind: "suffix", kept: random() },
    { kind: "some", random },
    { kind: "some", random },
    { kind: "torn", random },
    { kind: "torn", random },
  ];
}

function nameOf(loss: Loss): string {
  if (loss.kind !== "suffix") return loss.kind === "some" ? "any part of what was not flushed" : "sectors torn";
  if (loss.kept === 1) return "nothing lost";
  return loss.kept === 0 ? "all that was not flushed" : `all but the first ${loss.kept.toFixed(2)} of it`;
}
