import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../src/base/clock.ts";
import { discover } from "../src/ide/discover/discover.ts";
import { noOverrides } from "../src/ide/discover/overrides.ts";
import { openLinuxHost } from "../src/ide/linux/host.ts";
import type { Probe } from "../src/ide/process/probe-port.ts";

/**
 * One discovery on a machine with 2,000 processes, two IDEs and ten decoys among them: a folder that looks like `/proc`, a
 * real state database, ports that answer at once. The ratio is against reading every command line and nothing else, in
 * the same run. Exits 1 when the median takes longer than it may.
 */
const processes = 2_000;
const mayTakeMs = 300;
const rounds = 15;

const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const proc = join(folder, "proc");
const home = join(folder, "home");
try {
  fill();
  const host = openLinuxHost({ home, uid: 1000, clock: systemClock, procRoot: proc, fileRoot: folder });
  const answers: Probe = async () => ({ ok: true, protocol: "grpc", tls: false });
  const { signal } = new AbortController();
  const options = { host, probe: answers, overrides: noOverrides, lastGood: new Map() };
  const scanMs: number[] = [];
  const bareMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    scanMs.push(
      await timed(async () => {
        const { ides } = await discover(options, signal);
        if (ides.length !== 2 || !ides.every(({ signedIn }) => signedIn)) throw new Error(`found ${ides.length} IDEs`);
      }),
    );
    bareMs.push(
      await timed(
        async () =>
          void readdirSync(proc)
            .filter(isPid)
            .map((pid) => readFileSync(join(proc, pid, "cmdline"))),
      ),
    );
  }
  console.log(
    `discovery among ${processes} processes: median ${median(scanMs).toFixed(1)} ms, worst ${Math.max(...scanMs).toFixed(1)} ms`,
  );
  console.log(
    `reading the command lines alone: ${median(bareMs).toFixed(1)} ms (x${(median(scanMs) / median(bareMs)).toFixed(1)})`,
  );
  if (median(scanMs) > mayTakeMs) {
    console.error(`it may take ${mayTakeMs} ms`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function fill(): void {
  const state = join(home, ".config", "Windsurf", "User", "globalStorage");
  mkdirSync(state, { recursive: true });
  const database = new DatabaseSync(join(state, "state.vscdb"));
  database.exec("CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
  database
    .prepare("INSERT INTO ItemTable VALUES(?, ?)")
    .run("windsurfAuthStatus", JSON.stringify({ apiKey: "sk-ws-01-bench" }));
  database.close();
  mkdirSync(proc);
  writeFileSync(join(proc, "stat"), "cpu 1 2 3\nbtime 1760000000\n");
  const server =
    "/usr/share/windsurf/resources/app/extensions/windsurf/bin/language_server_linux_x64\0--ide_name\0windsurf\0--windsurf_version\x002.2.17\0";
  for (let pid = 1; pid <= processes; pid++) {
    if (pid % 1000 === 500) addProcess(pid, server, 40_000 + pid / 1000);
    else if (pid % 200 === 7) addProcess(pid, "/usr/bin/tail\0-f\0language_server.log\0", undefined);
    else
      addProcess(
        pid,
        `/usr/lib/program-${pid % 50}/bin/program\0--type=renderer\0${"--flag=value\0".repeat(pid % 40)}`,
        undefined,
      );
  }
}

function addProcess(pid: number, cmdline: string, port: number | undefined): void {
  const own = join(proc, String(pid));
  mkdirSync(join(own, "fd"), { recursive: true });
  mkdirSync(join(own, "net"));
  writeFileSync(join(own, "cmdline"), cmdline);
  writeFileSync(join(own, "stat"), `${pid} (program) S 1 ${"0 ".repeat(17)}${pid * 10} 0 0`);
  writeFileSync(join(own, "status"), "Name:\tprogram\nUid:\t1000\t1000\t1000\t1000\n");
  writeFileSync(join(own, "environ"), `HOME=${home}\0WINDSURF_CSRF_TOKEN=token-${pid}\0`);
  const others = Array.from({ length: port === undefined ? 0 : 400 }, (_, i) => row(20_000 + i, 900_000 + i));
  writeFileSync(
    join(own, "net", "tcp"),
    ["  sl", ...(port === undefined ? [] : [row(port, pid)]), ...others, ""].join("\n"),
  );
  writeFileSync(join(own, "net", "tcp6"), "  sl\n");
  if (port === undefined) return;
  for (let fd = 0; fd < 500; fd++)
    symlinkSync(fd === 250 ? `socket:[${pid}]` : `pipe:[${fd}]`, join(own, "fd", String(fd)));
}

function row(port: number, inode: number): string {
  const hex = Math.trunc(port).toString(16).toUpperCase().padStart(4, "0");
  return `   0: 0100007F:${hex} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0 100 0 0 10 0`;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function isPid(name: string): boolean {
  return /^\d+$/.test(name);
}
