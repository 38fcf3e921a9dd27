import { closeSync, fstatSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { fileProblem } from "../../base/node/file-problem.ts";
import { moveFileSync } from "../../base/node/move-file.ts";

/** When a log file is put aside; bytes. */
const largestBytes = 10 * 2 ** 20;
/** The number of files that are kept, the one being written included. */
const keptFiles = 5;

interface RotationOptions {
  readonly maxBytes?: number;
  readonly keep?: number;
  /** Called when lines begin to be lost, with the reason as a sentence. */
  readonly onProblem?: (why: string) => void;
}

/**
 * Opens a file that lines are added to (0600), and its folder (0700); older ones are `gateway.log.1` and so on. A file that somebody
 * removed is made again, and one that cannot be opened is tried again at each line.
 */
export function openRotatedFile(
  file: string,
  { maxBytes = largestBytes, keep = keptFiles, onProblem = () => {} }: RotationOptions = {},
) {
  let size = 0;
  let rotateAt = maxBytes;
  let problem: string | undefined;
  const open = (): number => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const opened = openSync(file, "a", 0o600);
    size = fstatSync(opened).size;
    return opened;
  };
  let descriptor: number | undefined;
  let isClosed = false;
  const lost = (error: unknown) => {
    const isNew = problem === undefined;
    problem = fileProblem(error, file)?.message ?? `${file} cannot be written: ${String(error)}.`;
    if (isNew) onProblem(problem);
  };
  try {
    descriptor = open();
  } catch (error) {
    lost(error);
  }
  /** The new file is open before the old one is closed: the system gives a closed number to the next socket or database. */
  const replace = () => {
    const old = descriptor;
    descriptor = open();
    rotateAt = maxBytes;
    if (old !== undefined) closeSync(old);
  };
  /** Where no new file can be opened now, the old one goes on, and the next attempt comes as many bytes later. */
  const rotate = () => {
    try {
      for (let number = keep - 1; number > 0; number--)
        renameIfThere(number === 1 ? file : `${file}.${number - 1}`, `${file}.${number}`);
      replace();
    } catch {
      rotateAt = size + maxBytes;
    }
  };
  return {
    /** Why the last line was lost, as a sentence; undefined while lines are written. */
    get problem() {
      return problem;
    },
    /** Never throws: a log that cannot be written costs the line, not the gateway. */
    write(line: string) {
      if (isClosed) return;
      try {
        descriptor ??= open();
        if (fstatSync(descriptor).nlink === 0) replace();
        else if (size > 0 && size + Buffer.byteLength(line) > rotateAt) rotate();
        size += writeSync(descriptor, line);
        problem = undefined;
      } catch (error) {
        lost(error);
      }
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
      isClosed = true;
    },
  };
}

function renameIfThere(from: string, to: string): void {
  try {
    moveFileSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // fs throws nothing else
  }
}
