import { z } from "zod";
import { parseSocket } from "../darwin/parse.ts";
import { type ProcessRow, type ServerEnvironment, serverEnvironment } from "../host/host.ts";
import { splitWindows } from "../process/command-line.ts";

/** JSON that PowerShell printed: a byte order mark and blank lines around it do not matter. undefined if it is none. */
export function parsePowerShellJson(text: string): unknown {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  if (trimmed === "") return []; // ConvertTo-Json of nothing prints nothing
  try {
    return JSON.parse(trimmed);
  } catch {
    return undefined; // a warning, or half an answer
  }
}

/** PowerShell unrolls: none, one or many of a kind print as nothing, one object, or an array. */
function many(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

const integer = z.number().int().nonnegative();
const processJson = z.object({
  ProcessId: integer.positive(),
  ParentProcessId: integer.nullish(),
  CommandLine: z.string().nullish(),
  ExecutablePath: z.string().nullish(),
  StartedAtMs: integer.nullish(),
  CreationDate: z.unknown().optional(),
  Mine: z.boolean().nullish(),
});
const listJson = z.object({ Looked: integer.optional(), Processes: z.unknown().optional() });

/** Parses the output of the list script, also as a bare object or array of processes. Entries of another form are left out. */
export function parseProcesses(
  json: unknown,
): { readonly looked: number; readonly processes: readonly ProcessRow[] } | undefined {
  const list = Array.isArray(json) ? undefined : listJson.safeParse(json).data;
  const entries = many(
    list !== undefined && "Processes" in list && list.Processes !== undefined ? list.Processes : json,
  );
  if (json === undefined) return undefined;
  const processes: ProcessRow[] = [];
  for (const entry of entries) {
    const { data } = processJson.safeParse(entry);
    if (data === undefined) continue;
    const command = splitWindows(data.CommandLine ?? "");
    processes.push({
      pid: data.ProcessId,
      parentPid: data.ParentProcessId ?? undefined,
      // Windows hides command line and owner of other users' processes, unless this user is an administrator.
      owner: data.Mine === true ? "self" : data.Mine === false ? "other" : "unknown",
      startedAtMs: data.StartedAtMs ?? parseCimDate(data.CreationDate),
      command:
        command.program === ""
          ? { program: data.ExecutablePath ?? "", args: [] }
          : withPath(command, data.ExecutablePath ?? ""),
      zombie: false,
      elsewhere: undefined,
    });
  }
  return { looked: list?.Looked ?? processes.length, processes };
}

/** A program may be started by its bare name; the path that the system knows says more. */
function withPath(command: ProcessRow["command"], path: string): ProcessRow["command"] {
  return path === "" || /[\\/]/.test(command.program) ? command : { program: path, args: command.args };
}

/** `/Date(1706695331000)/` (5.1), ISO 8601 (7), `{ "value": "/Date(…)/" }` (5.1 with added members), or a CIM date. */
export function parseCimDate(value: unknown): number | undefined {
  const text = typeof value === "object" && value !== null && "value" in value ? value.value : value;
  if (typeof text !== "string") return undefined;
  const ticks = /^\\?\/Date\((\d{1,16})(?:[+-]\d{4})?\)\\?\/$/.exec(text)?.[1];
  if (ticks !== undefined) return Number(ticks);
  const cim = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})\.(\d{3})\d{3}([+-]\d{3})$/.exec(text);
  if (cim !== null) {
    const [year, month, day, hours, minutes, seconds, ms, offset] = cim.slice(1).map(Number);
    const local = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hours, minutes, seconds, ms);
    return local - (offset ?? 0) * 60_000;
  }
  const parsed = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** A listening socket and who holds it. */
export interface SocketRow {
  readonly pid: number;
  readonly address: string;
  readonly port: number;
}

const connectionJson = z.object({
  LocalAddress: z.string(),
  LocalPort: integer.min(1).max(65_535),
  OwningProcess: integer.positive(),
});

/** Parses the JSON of `Get-NetTCPConnection -State Listen`: none, one or many. */
export function parseConnections(json: unknown): readonly SocketRow[] {
  return many(json)
    .map((entry) => connectionJson.safeParse(entry).data)
    .filter((entry) => entry !== undefined)
    .map(({ LocalAddress, LocalPort, OwningProcess }) => ({
      pid: OwningProcess,
      address: LocalAddress.replace(/%.*$/, ""),
      port: LocalPort,
    }));
}

/**
 * Parses the listening sockets in the output of `netstat -ano`. The word for the state is in the user's language, so a listener is
 * recognised by its empty foreign address. Source: docs/dev/wire/processes.md, "Reading the process list".
 */
export function parseNetstat(text: string): readonly SocketRow[] {
  const rows: SocketRow[] = [];
  for (const line of text.split(/\r?\n/)) {
    const words = line.trim().split(/\s+/);
    const [protocol, local, foreign] = words;
    const pid = Number(words.at(-1));
    if (protocol !== "TCP" || (foreign !== "0.0.0.0:0" && foreign !== "[::]:0")) continue;
    const socket = parseSocket(local ?? "");
    if (socket !== undefined && Number.isInteger(pid) && pid > 0) rows.push({ pid, ...socket });
  }
  return rows;
}

const environmentJson = z.record(z.string(), z.string());

/** Parses the output of the environment script: names in capitals to values. Undefined if the output is no such object. */
export function parseEnvironment(json: unknown): ServerEnvironment | undefined {
  const parsed = environmentJson.safeParse(json);
  return parsed.success ? serverEnvironment(Object.entries(parsed.data)) : undefined;
}
