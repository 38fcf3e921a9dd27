import { stat } from "node:fs/promises";
import { release } from "node:os";
import { dirname } from "node:path";
import { isMillraceError } from "../../base/errors.ts";
import type { Settings } from "../compose/settings.ts";
import { readKey } from "../gateway-process/key-file.ts";
import { version } from "../package-files.ts";
import { writeProblem } from "./check-store.ts";
import { type Finding, finding } from "./finding.ts";

export interface MachineCheck {
  readonly millrace: string;
  readonly node: string;
  readonly system: string;
  readonly clock: string;
  readonly findings: readonly Finding[];
}

/** No clock is right that is before this; epoch ms. */
const notBeforeMs = Date.UTC(2026, 0, 1);

/** Versions and the clock. `bin.ts` has refused a Node that is too old. */
export function checkMachine(nowMs: number): MachineCheck {
  const late: Finding = finding(
    "clock",
    "error",
    "The clock of this machine is before this version of Millrace was made",
    "Set the clock: resets, expiries and the ages of turns go by it.",
  );
  return {
    millrace: version(),
    node: process.version,
    system: `${process.platform} ${release()} ${process.arch}`,
    clock: new Date(nowMs).toISOString(),
    findings: nowMs < notBeforeMs ? [late] : [],
  };
}

export interface KeyCheck {
  readonly file: string;
  readonly exists: boolean;
  /** Octal permission bits, as `ls` and `chmod` have them; null on Windows and without a file. */
  readonly mode: string | null;
  readonly findings: readonly Finding[];
}

/** Whether the gateway's key can be used, by this user only. */
export async function checkKey(settings: Settings, platform: NodeJS.Platform): Promise<KeyCheck> {
  const file = settings.keyFile;
  const mode = platform === "win32" ? undefined : await modeOf(file);
  const found = { file, exists: true, mode: mode?.toString(8) ?? null };
  try {
    if (readKey(file) === undefined) {
      const canBeMade = (await writeProblem(dirname(file))) === undefined; // else the store's finding says why not
      const findings = canBeMade ? [finding("key", "note", "There is no key yet; the first start makes one")] : [];
      return { file, exists: false, mode: null, findings };
    }
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { ...found, findings: [finding("key", "error", error.message, error.hint)] };
  }
  const folderMode = platform === "win32" ? undefined : await modeOf(settings.folder);
  const findings: Finding[] = [finding("key", "ok", `The key is in ${file}, readable by this user alone`)];
  if (folderMode !== undefined && (folderMode & 0o022) !== 0) {
    findings.push(
      finding(
        "key",
        "warning",
        `Others may write to ${settings.folder} (mode ${folderMode.toString(8)})`,
        `Run \`chmod 700 ${settings.folder}\`.`,
      ),
    );
  }
  return { ...found, findings };
}

async function modeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => undefined, // not there
  );
}
