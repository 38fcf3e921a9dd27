import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { MillraceError } from "../../base/errors.ts";

/** Throws `invalid_request` where a report cannot go there, before anything is spent on it. */
export function checkReportPath(path: string): void {
  if (existsSync(path)) throw cannotWrite(path, "it is there already");
}

/** Writes a report that is clean already (0600); a file that is there is not replaced. Throws `invalid_request`. */
export async function writeReport(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, `${text}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException; // writing a file fails with nothing else
    if (code === undefined) throw error;
    throw cannotWrite(path, code === "EEXIST" ? "it is there already" : code, error);
  }
}

function cannotWrite(path: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError("invalid_request", `The report ${path} cannot be written: ${why}.`, {
    hint: "Name another file.",
    cause,
  });
}
