import { type CommonHostOptions, commonHost } from "../host/common-host.ts";
import type { Host, HostResult, ListeningSocket, ProcessList, ProcessRow, ServerEnvironment } from "../host/host.ts";
import type { RunCommand } from "../host/run-command.ts";
import { holdings } from "../process/shared-ports.ts";
import {
  parseConnections,
  parseEnvironment,
  parseNetstat,
  parsePowerShellJson,
  parseProcesses,
  type SocketRow,
} from "./parse.ts";
import { encodedArguments, environmentScript, listeningScript, listScript, processScript } from "./scripts.ts";

export interface WindowsHostOptions extends CommonHostOptions {
  readonly run: RunCommand;
  /** `%SystemRoot%`: with it the system's own programs are run by their full path, without it by name. */
  readonly systemRoot: string | undefined;
}

/** PowerShell alone takes up to a second to start, longer on a cold disk. Past this the language server is not looked for: an agent needs no search. */
const scriptLimitMs = 5_000;
const netstatLimitMs = 5_000;

/**
 * Windows through PowerShell (CIM) and `netstat`, which starts ten times faster; PowerShell lists the ports where `netstat` fails.
 * Source: docs/dev/wire/processes.md, "Reading the process list", "Environment of another Windows process".
 */
export function openWindowsHost(options: WindowsHostOptions): Host {
  const system = (...path: readonly string[]) => [options.systemRoot, "System32", ...path].join("\\");
  const powershell =
    options.systemRoot === undefined ? "powershell" : system("WindowsPowerShell", "v1.0", "powershell.exe");
  const netstat = options.systemRoot === undefined ? "netstat" : system("netstat.exe");

  async function runScript(script: string, signal: AbortSignal): Promise<HostResult<unknown>> {
    const answer = await options.run(powershell, encodedArguments(script), { limitMs: scriptLimitMs }, signal);
    if (!answer.ok) return answer;
    const json = answer.value.exitCode === 0 ? parsePowerShellJson(answer.value.stdout) : undefined;
    return json === undefined
      ? { ok: false, why: "PowerShell did not answer in the form that was asked for" }
      : { ok: true, value: json };
  }

  async function listeners(signal: AbortSignal): Promise<HostResult<readonly SocketRow[]>> {
    const printed = await options.run(netstat, ["-ano"], { limitMs: netstatLimitMs }, signal);
    const rows = printed.ok ? parseNetstat(printed.value.stdout) : [];
    if (rows.length > 0) return { ok: true, value: rows };
    const answer = await runScript(listeningScript, signal);
    return answer.ok ? { ok: true, value: parseConnections(answer.value) } : answer;
  }

  async function readProcess(pid: number, signal: AbortSignal): Promise<ProcessRow | undefined> {
    const answer = await runScript(processScript(pid), signal);
    return answer.ok ? parseProcesses(answer.value)?.processes.find((row) => row.pid === pid) : undefined;
  }

  return {
    ...commonHost(options),
    platform: "windows",
    checkMayWait: true,

    async listProcesses(select, signal): Promise<HostResult<ProcessList>> {
      const answer = await runScript(listScript, signal);
      if (!answer.ok) return answer;
      const list = parseProcesses(answer.value);
      // PowerShell is itself a process. One that prints nothing was blocked, or is a program that only has its name.
      if (list === undefined || list.looked === 0) return { ok: false, why: "PowerShell printed no list of processes" };
      const processes = list.processes.filter(({ command }) => select(command));
      return { ok: true, value: { processes, looked: list.looked, source: "CIM" } };
    },

    readProcess,

    async readEnvironment(process, signal): Promise<HostResult<ServerEnvironment>> {
      const answer = await runScript(environmentScript(process.pid), signal);
      if (!answer.ok) return { ok: false, why: `its environment could not be read (${answer.why})` };
      const variables = parseEnvironment(answer.value);
      return variables === undefined
        ? { ok: false, why: "its environment could not be read" }
        : { ok: true, value: variables };
    },

    async listListening(pid, signal): Promise<HostResult<readonly ListeningSocket[]>> {
      const answer = await listeners(signal);
      return answer.ok ? { ok: true, value: holdings(answer.value, pid) } : answer;
    },

    async holderOf(port, signal) {
      const answer = await listeners(signal);
      const holder = answer.ok ? answer.value.find((row) => row.port === port) : undefined;
      return holder && readProcess(holder.pid, signal);
    },

    surroundings: async () => [],
  };
}
