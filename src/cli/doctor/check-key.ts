import { stat } from "node:fs/promises";
import { isMillraceError } from "../../base/errors.ts";
import type { Settings } from "../compose/settings.ts";
import { readKey } from "../gateway-process/key-file.ts";
import type { Finding } from "./finding.ts";

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
      return {
        file,
        exists: false,
        mode: null,
        findings: [{ area: "key", level: "note", what: "There is no key yet; the first start makes one" }],
      };
    }
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { ...found, findings: [{ area: "key", level: "error", what: error.message, todo: error.hint }] };
  }
  const folderMode = platform === "win32" ? undefined : await modeOf(settings.folder);
  const findings: Finding[] = [
    { area: "key", level: "ok", what: `The key is in ${file}, readable by this user alone` },
  ];
  if (folderMode !== undefined && (folderMode & 0o022) !== 0) {
    findings.push({
      area: "key",
      level: "warning",
      what: `Others may write to ${settings.folder} (mode ${folderMode.toString(8)})`,
      todo: `Run \`chmod 700 ${settings.folder}\`.`,
    });
  }
  return { ...found, findings };
}

async function modeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => undefined, // not there
  );
}
