import { type CommonHostOptions, commonHost } from "../host/common-host.ts";
import type { Host, HostResult, ListeningSocket, ProcessList, ProcessRow, ServerEnvironment } from "../host/host.ts";
import type { CommandOutput, RunCommand } from "../host/run-command.ts";
import { holdings } from "../process/shared-ports.ts";
import { type LsofRow, type PsRow, parseLsof, parsePs, parsePsEnvironment, psColumns } from "./parse.ts";

export interface DarwinHostOptions extends CommonHostOptions {
  /** The user who runs us, as `process.getuid()` says. */
  readonly uid: number;
  readonly run: RunCommand;
}

const listLimitMs = 5_000;
const askLimitMs = 3_000;
/** One language and one time zone, so that the output has one form. */
const environment = { LC_ALL: "C", TZ: "UTC" };

/** `at`: where the system keeps it. */
interface SystemProgram {
  readonly name: string;
  readonly at: string;
}

const psProgram: SystemProgram = { name: "ps", at: "/bin/ps" };
const lsofProgram: SystemProgram = { name: "lsof", at: "/usr/sbin/lsof" };

/** macOS through `ps` and `lsof`, both part of the system. Source: docs/dev/wire/processes.md, "Reading the process list". */
export function openDarwinHost(options: DarwinHostOptions): Host {
  /** By name on the PATH, else where the system keeps it: a service may run with a short PATH. */
  async function run(
    { name, at }: SystemProgram,
    args: readonly string[],
    limitMs: number,
    signal: AbortSignal,
  ): Promise<HostResult<CommandOutput>> {
    const byName = await options.run(name, args, { limitMs, environment }, signal);
    if (byName.ok || !byName.why.includes("PATH")) return byName;
    return options.run(at, args, { limitMs, environment }, signal);
  }
  const ps = (args: readonly string[], limitMs: number, signal: AbortSignal) => run(psProgram, args, limitMs, signal);

  function rowOf(row: PsRow): ProcessRow {
    const { pid, parentPid, startedAtMs, zombie, command } = row;
    return {
      pid,
      parentPid,
      startedAtMs,
      zombie,
      command,
      owner: row.uid === options.uid ? "self" : "other",
      elsewhere: undefined,
    };
  }

  /** The listeners of one process, of one port, or all. */
  async function listeners(which: readonly string[], signal: AbortSignal): Promise<HostResult<readonly LsofRow[]>> {
    const args = ["-nP", "-w", ...which, "-sTCP:LISTEN", "-Fpn"];
    const answer = await run(lsofProgram, args, askLimitMs, signal);
    return answer.ok ? { ok: true, value: parseLsof(answer.value.stdout) } : answer;
  }

  async function readProcess(pid: number, signal: AbortSignal): Promise<ProcessRow | undefined> {
    const answer = await ps(["-ww", ...psColumns, "-p", String(pid)], askLimitMs, signal);
    const row = answer.ok ? parsePs(answer.value.stdout).find((other) => other.pid === pid) : undefined;
    return row === undefined ? undefined : rowOf(row);
  }

  return {
    ...commonHost(options),
    platform: "darwin",
    checkMayWait: true,

    async listProcesses(select, signal): Promise<HostResult<ProcessList>> {
      const answer = await ps(["-axww", ...psColumns], listLimitMs, signal);
      if (!answer.ok) return answer;
      const rows = parsePs(answer.value.stdout);
      if (rows.length === 0) return { ok: false, why: "ps printed no process in the form that was asked for" };
      const processes = rows.filter(({ command }) => select(command)).map(rowOf);
      return { ok: true, value: { processes, looked: rows.length, source: "ps" } };
    },

    readProcess,

    async readEnvironment(process, signal): Promise<HostResult<ServerEnvironment>> {
      const answer = await ps(["-E", "-ww", "-o", "command=", "-p", String(process.pid)], askLimitMs, signal);
      if (!answer.ok) return answer;
      const variables = parsePsEnvironment(answer.value.stdout);
      if (variables.size === 0) return { ok: false, why: "the system does not show this process's environment" };
      return { ok: true, value: variables };
    },

    async listListening(pid, signal): Promise<HostResult<readonly ListeningSocket[]>> {
      const own = await listeners(["-a", "-p", String(pid), "-iTCP"], signal);
      if (!own.ok) return own;
      if (own.value.length === 0) return { ok: true, value: [] };
      // Another holder of the same port matters too. A machine with many sockets may not list all of them in time.
      const all = await listeners(["-iTCP"], signal);
      const others = all.ok ? all.value.filter((row) => row.pid !== pid) : [];
      return { ok: true, value: holdings([...own.value, ...others], pid) };
    },

    async holderOf(port, signal) {
      const answer = await listeners([`-iTCP:${port}`], signal);
      const holder = answer.ok ? answer.value.find((row) => row.port === port) : undefined;
      return holder && readProcess(holder.pid, signal);
    },

    surroundings: async () => [],
  };
}
