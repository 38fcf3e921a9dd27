import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";

/**
 * Resident memory of a process in bytes, with that of the other processes in its process group where the system has groups. Undefined
 * where the system does not say.
 */
export async function residentMemory(pid: number): Promise<number | undefined> {
  if (process.platform === "win32") {
    return parseTasklist(await output("tasklist", ["/FI", `PID eq ${pid}`, "/FO", "CSV", "/NH"]));
  }
  const rows = existsSync("/proc/self/stat") ? await fromProc() : await fromPs();
  const ofGroup = rows.filter(([id, group]) => id === pid || group === pid);
  return ofGroup.some(([id]) => id === pid) ? ofGroup.reduce((sum, [, , bytes]) => sum + bytes, 0) : undefined;
}

/** Process id, process group and bytes of each process. */
type Row = readonly [pid: number, group: number, bytes: number];

/** In `/proc/<pid>/stat` the group is the third field after the name, and the pages are the 22nd. */
async function fromProc(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => ""); // one at a time: a process may open few files at once
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    rows.push([stat === "" ? 0 : Number(name), Number(fields[2]), Number(fields[21]) * pageBytes]);
  }
  return rows;
}

const pageBytes = 4_096;

async function fromPs(): Promise<readonly Row[]> {
  const lines = (await output("ps", ["-A", "-o", "pid=,pgid=,rss="])).split("\n");
  return lines.map((line): Row => {
    const [pid = 0, group = 0, kib = 0] = line.trim().split(/\s+/).map(Number);
    return [pid, group, kib * 1024];
  });
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
