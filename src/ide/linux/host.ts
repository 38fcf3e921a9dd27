import { mapBounded, withOwnTime } from "../host/bounded.ts";
import { type CommonHostOptions, commonHost } from "../host/common-host.ts";
import type {
  CommandLine,
  Host,
  HostKind,
  HostResult,
  ListeningSocket,
  ProcessList,
  ProcessRow,
  ServerEnvironment,
} from "../host/host.ts";
import { lookNow, readBootTime } from "./look-now.ts";
import * as parse from "./parse.ts";
import { readProcFile, readProcFolder, readProcLink } from "./read-proc.ts";

export interface LinuxHostOptions extends CommonHostOptions {
  /** The user who runs us, as `process.getuid()` says. */
  readonly uid: number;
  /** `/proc`, or a folder that looks like it. */
  readonly procRoot?: string;
  /** The root of the file system, for the marks that containers leave there. */
  readonly fileRoot?: string;
}

const scanLimitMs = 5_000;
const askLimitMs = 5_000; // far more than it takes, also on a machine that is busy
const late = { ok: false, why: "the system did not answer in time" } as const;
const width = 48;
const maxEnvironBytes = 4 * 1024 * 1024;
const maxTableBytes = 8 * 1024 * 1024; // listening sockets come first in the table
const maxCmdlineBytes = 256 * 1024;

/** Linux through `/proc` alone: no `ps`, no `lsof`. Source: docs/dev/wire/processes.md, "Reading the process list". */
export function openLinuxHost(options: LinuxHostOptions): Host {
  const proc = options.procRoot ?? "/proc";
  const root = options.fileRoot ?? "";
  const read = (path: string, signal: AbortSignal, maxBytes = 65_536) =>
    readProcFile(`${proc}/${path}`, maxBytes, signal);

  async function readRow(
    pid: number,
    bootTime: number | undefined,
    signal: AbortSignal,
  ): Promise<ProcessRow | undefined> {
    const stat = parse.parseStat((await read(`${pid}/stat`, signal)) ?? "");
    if (stat === undefined) return undefined;
    const uid = parse.parseUid((await read(`${pid}/status`, signal)) ?? "");
    const command = parse.parseCmdline((await read(`${pid}/cmdline`, signal, maxCmdlineBytes)) ?? "");
    const zombie = stat.state === "Z" || stat.state === "X";
    return {
      pid,
      parentPid: stat.parentPid === 0 ? undefined : stat.parentPid,
      owner: uid === undefined ? "unknown" : uid === options.uid ? "self" : "other",
      startedAtMs: parse.startedAtMs(bootTime, stat.startTicks),
      command: command.program === "" ? { program: stat.comm, args: [] } : command,
      zombie,
      elsewhere: zombie ? undefined : await otherNetwork(pid, signal),
    };
  }

  async function otherNetwork(pid: number, signal: AbortSignal): Promise<string | undefined> {
    const own = await readProcLink(`${proc}/self/ns/net`, signal);
    const theirs = await readProcLink(`${proc}/${pid}/ns/net`, signal);
    const differs = own !== undefined && theirs !== undefined && own !== theirs;
    return differs ? "runs in a container with its own network" : undefined;
  }

  let firstBootTime: number | undefined;

  /** As it was read first: the system counts it back from the wall clock, and setting that makes no process another one. */
  async function bootTime(signal: AbortSignal): Promise<number | undefined> {
    firstBootTime ??= parse.parseBootTime((await read("stat", signal, 1024 * 1024)) ?? "");
    return firstBootTime;
  }

  return {
    ...commonHost(options),
    platform: "linux",
    checkMayWait: false,

    listProcesses: (select, outer) =>
      withOwnTime<HostResult<ProcessList>>(outer, scanLimitMs, late, async (signal) => {
        const names = await readProcFolder(proc, signal);
        if (names === undefined) return { ok: false, why: `${proc} cannot be read` };
        const pids = names.filter((name) => /^[1-9]\d{0,9}$/.test(name)).map(Number);
        if (pids.length === 0) return { ok: false, why: `${proc} shows no processes` };
        const boot = await bootTime(signal);
        const rows = await mapBounded(pids, width, async (pid) => {
          const text = await read(`${pid}/cmdline`, signal, maxCmdlineBytes);
          if (text === undefined) return undefined;
          if (text === "") return selectNameless(pid, select, boot, signal);
          return select(parse.parseCmdline(text)) ? readRow(pid, boot, signal) : undefined;
        });
        const processes = rows.filter((row) => row !== undefined);
        return { ok: true, value: { processes, looked: pids.length, source: proc } };
      }),

    readProcess: (pid, outer) =>
      withOwnTime(outer, askLimitMs, undefined, async (signal) => readRow(pid, await bootTime(signal), signal)),

    readEnvironment: (process, outer) =>
      withOwnTime<HostResult<ServerEnvironment>>(outer, askLimitMs, late, async (signal) => {
        const text = await read(`${process.pid}/environ`, signal, maxEnvironBytes);
        if (text === undefined) return { ok: false, why: "the system does not let this user read its environment" };
        return { ok: true, value: parse.parseEnviron(text) };
      }),

    listListening: (pid, outer) => withOwnTime(outer, askLimitMs, late, (signal) => listListening(pid, signal)),

    holderOf: (port, outer) =>
      withOwnTime(outer, scanLimitMs, undefined, async (signal) => {
        const boot = await bootTime(signal);
        const names = (await readProcFolder(proc, signal)) ?? [];
        for (const pid of names.filter((name) => /^[1-9]\d{0,9}$/.test(name)).map(Number)) {
          const { row, sockets } = lookNow(proc, { pid, port, uid: options.uid, bootTime: () => boot });
          if (row?.elsewhere === undefined && sockets.ok && sockets.value.length > 0) return readRow(pid, boot, signal);
        }
        return undefined;
      }),

    lookNow(pid, port) {
      const boot = () => {
        firstBootTime ??= readBootTime(proc);
        return firstBootTime;
      };
      return lookNow(proc, { pid, port, uid: options.uid, bootTime: boot });
    },

    surroundings: (outer) =>
      withOwnTime<readonly HostKind[]>(outer, askLimitMs, [], async (signal) => {
        const found: HostKind[] = [];
        if (parse.isWsl((await read("sys/kernel/osrelease", signal)) ?? "")) found.push("wsl");
        const mark = async (path: string) => (await readProcFile(`${root}${path}`, 16, signal)) !== undefined;
        if ((await mark("/.dockerenv")) || (await mark("/run/.containerenv"))) found.push("container");
        if (await mark("/.flatpak-info")) found.push("flatpak");
        return found;
      }),
  };

  async function listListening(pid: number, signal: AbortSignal): Promise<HostResult<readonly ListeningSocket[]>> {
    const [v4, v6] = await Promise.all([
      read(`${pid}/net/tcp`, signal, maxTableBytes),
      read(`${pid}/net/tcp6`, signal, maxTableBytes),
    ]);
    if (v4 === undefined && v6 === undefined) return { ok: false, why: "its socket table cannot be read" };
    const rows = [...parse.parseTcpTable(v4 ?? ""), ...parse.parseTcpTable(v6 ?? "")];
    const names = await readProcFolder(`${proc}/${pid}/fd`, signal);
    if (names === undefined) return { ok: false, why: "the system does not let this user see which sockets it holds" };
    const wanted = new Set(rows.map((row) => row.inode));
    const own = new Set<string>();
    await mapBounded(names, width, async (name) => {
      const inode = parse.parseSocketLink((await readProcLink(`${proc}/${pid}/fd/${name}`, signal)) ?? "");
      if (inode !== undefined && wanted.has(inode)) own.add(inode);
    });
    return { ok: true, value: parse.joinSockets(rows, own) };
  }

  /** A process without a command line is a kernel thread or a zombie. Only zombies are reported. */
  async function selectNameless(
    pid: number,
    select: (command: CommandLine) => boolean,
    boot: number | undefined,
    signal: AbortSignal,
  ): Promise<ProcessRow | undefined> {
    const stat = parse.parseStat((await read(`${pid}/stat`, signal)) ?? "");
    if (stat?.state !== "Z" || !select({ program: stat.comm, args: [] })) return undefined;
    return readRow(pid, boot, signal);
  }
}
