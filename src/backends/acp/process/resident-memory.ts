import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";

/** Resident memory of a process in bytes; undefined where the system does not say. */
export async function residentMemory(pid: number): Promise<number | undefined> {
  if (process.platform === "win32") {
    return parseTasklist(await output("tasklist", ["/FI", `PID eq ${pid}`, "/FO", "CSV", "/NH"]));
  }
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    const kib = Number.parseInt(await output("ps", ["-o", "rss=", "-p", String(pid)]), 10);
    return Number.isNaN(kib) ? undefined : kib * 1024;
  }
}

/**
 * The last cell of a line of `tasklist /FO CSV /NH`: `"devin.exe","4242","Console","1","123,456 K"`. The separator between the digits
 * depends on the system's language.
 */
export function parseTasklist(text: string): number | undefined {
  const cell = /,"([\d.,\s\u00a0\u202f']+)\s*K"\s*$/m.exec(text)?.[1];
  return cell === undefined ? undefined : Number(cell.replaceAll(/\D/g, "")) * 1024;
}

/** Empty where the program fails. */
function output(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, [...args], { windowsHide: true }, (error, stdout) => resolve(error === null ? stdout : ""));
  });
}
