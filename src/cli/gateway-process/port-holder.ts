import { readdir, readFile, readlink } from "node:fs/promises";
import { MillraceError } from "../../base/errors.ts";
import { commandRunner, type RunCommand } from "../../ide/host/run-command.ts";
import { setUpClients } from "../clients/installed.ts";
import type { GatewayFile } from "./gateway-file.ts";

/** The process that listens on a port, as far as the system shows it. */
interface PortHolder {
  readonly pid: number;
  /** Its program and, for an interpreter, its script. Further arguments may hold secrets and are left out. */
  readonly command: string | undefined;
}

const limitMs = 5_000;

/** Which process listens on this TCP port here; undefined where the system does not say (a process of another user). */
export async function findPortHolder(
  port: number,
  platform: NodeJS.Platform,
  signal: AbortSignal,
  run: RunCommand = commandRunner(process.env),
): Promise<PortHolder | undefined> {
  if (platform === "linux") return findInProc(port);
  const ask = async (program: string, args: readonly string[]) => {
    const answer = await run(program, args, { limitMs }, signal);
    return answer.ok ? answer.value.stdout : "";
  };
  if (platform !== "win32") return holderFromLsof(await ask("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"]));
  const pid = holderFromNetstat(await ask("netstat", ["-ano", "-p", "TCP"]), port);
  if (pid === undefined) return undefined;
  const listed = await ask("tasklist", ["/FI", `PID eq ${pid}`, "/FO", "CSV", "/NH"]);
  return { pid, command: /^"([^"]+)"/m.exec(listed)?.[1] };
}

/** `lsof -Fpc`: a line `p<pid>`, then `c<command>`. */
export function holderFromLsof(text: string): PortHolder | undefined {
  const pid = /^p(\d+)$/m.exec(text)?.[1];
  return pid === undefined ? undefined : { pid: Number(pid), command: /^c(.+)$/m.exec(text)?.[1] };
}

/** `netstat -ano`: the word for the state depends on the language, so a listener is recognised by its foreign address. */
export function holderFromNetstat(text: string, port: number): number | undefined {
  for (const line of text.split("\n")) {
    const [protocol, local = "", foreign = "", , pid] = line.trim().split(/\s+/);
    if (protocol === "TCP" && local.endsWith(`:${port}`) && foreign.endsWith(":0")) return Number(pid);
  }
  return undefined;
}

async function findInProc(port: number): Promise<PortHolder | undefined> {
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => textOf(`/proc/net/${name}`)));
  const sockets = new Set(tables.flatMap((table) => listenersIn(table, port)).map((inode) => `socket:[${inode}]`));
  if (sockets.size === 0) return undefined;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const handles = await readdir(`/proc/${pid}/fd`).catch(() => []); // another user's, or gone
    for (const handle of handles) {
      const target = await readlink(`/proc/${pid}/fd/${handle}`).catch(() => "");
      if (sockets.has(target)) return { pid: Number(pid), command: shortCommand(await textOf(`/proc/${pid}/cmdline`)) };
    }
  }
  return undefined;
}

/** The inodes of the sockets that listen on the port. Source: proc_net_tcp.rst of the Linux kernel; state 0A is LISTEN. */
export function listenersIn(table: string, port: number): readonly string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return table.split("\n").flatMap((line) => {
    const columns = line.trim().split(/\s+/);
    const inode = columns[9];
    return columns[1]?.endsWith(`:${wanted}`) && columns[3] === "0A" && inode !== undefined ? [inode] : [];
  });
}

function shortCommand(commandLine: string): string | undefined {
  const [program = "", next = ""] = commandLine.split("\0");
  const name = program.replace(/^.*\//, "");
  if (name === "") return undefined;
  return next.startsWith("/") ? `${name} ${next}` : name;
}

function textOf(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}

/** Why the gateway may not use another port instead of the one in use. */
export type PortReason = { readonly kind: "option" } | { readonly kind: "clients"; readonly names: readonly string[] };

/** Why the port may not change: the user set it, or clients were configured with it. */
export function portReason(given: ReadonlySet<string>, folder: string): PortReason | undefined {
  if (given.has("port")) return { kind: "option" };
  const names = setUpClients(folder);
  return names.length === 0 ? undefined : { kind: "clients", names };
}

/** The error for a port that another program has. */
export function portTaken(port: number, holder: PortHolder | undefined, reason: PortReason): MillraceError {
  const who =
    holder === undefined
      ? "a process that this system does not show, perhaps of another user"
      : holder.command === undefined
        ? `process ${holder.pid}`
        : `process ${holder.pid} (${holder.command})`;
  const because =
    reason.kind === "option"
      ? ""
      : ` ${listed(reason.names)} ${reason.names.length === 1 ? "is" : "are"} set up for it.`;
  return new MillraceError("invalid_request", `Port ${port} is in use by ${who}.${because}`, {
    param: "port",
    hint:
      reason.kind === "option"
        ? "Stop that process, or choose another port. `--port 0` takes any free one."
        : "Stop that process. Or run `millrace serve --port <another>`, then `millrace setup` again for each client.",
  });
}

/** The error for a second gateway of this user on one port. */
export function alreadyServes({ url, pid }: Pick<GatewayFile, "url" | "pid">): MillraceError {
  return new MillraceError("invalid_request", `Your gateway already serves on ${url} (process ${pid}).`, {
    param: "port",
    hint: "You can use it. `millrace stop` stops it, `millrace restart` restarts it, `--port 0` starts a second one.",
  });
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
