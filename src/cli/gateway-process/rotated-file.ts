import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** When a log file is put aside; bytes. */
const largestBytes = 10 * 2 ** 20;
/** The number of files that are kept, the one being written included. */
const keptFiles = 5;

/** A file that lines are added to (0600): `gateway.log`, and older ones as `gateway.log.1` and so on. */
export interface RotatedFile {
  /** Never throws: a full disk costs the line. */
  write(line: string): void;
  close(): void;
}

/** Opens the file, and its folder (0700). Throws the file system's errors. */
export function openRotatedFile(file: string, { maxBytes = largestBytes, keep = keptFiles } = {}): RotatedFile {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let descriptor = openSync(file, "a", 0o600);
  let size = fstatSync(descriptor).size;
  const rotate = () => {
    closeSync(descriptor);
    for (let number = keep - 1; number > 0; number--)
      attempt(() => renameSync(number === 1 ? file : `${file}.${number - 1}`, `${file}.${number}`));
    descriptor = openSync(file, "a", 0o600);
    size = fstatSync(descriptor).size;
  };
  return {
    write(line) {
      attempt(() => {
        if (size > 0 && size + Buffer.byteLength(line) > maxBytes) rotate();
        size += writeSync(descriptor, line);
      });
    },
    close: () => attempt(() => closeSync(descriptor)),
  };
}

function attempt(what: () => void): void {
  try {
    what();
  } catch {
    // a log that cannot be written must not stop the gateway
  }
}
