import type { Trace } from "../discover/trace.ts";
import type { Host, ProcessRow } from "../host/host.ts";
import { type Flags, portFlag } from "./command-line.ts";
import { isLoopbackAddress } from "./verify-holder.ts";

/** A port worth asking: on loopback, held by the process alone. */
export interface CandidatePort {
  readonly host: string;
  readonly port: number;
}

/** The process whose ports are listed. `lastGood`: its port that answered last. */
interface Holder {
  readonly row: ProcessRow;
  readonly flags: Flags;
  readonly lastGood: number | undefined;
}

const maxPorts = 16;

/**
 * The ports of a server's process, in the order to try them: the port that answered last, the ports of its command line, then
 * those near the editor's port (the lowest above it, three above it among them), then the rest. Only ports that the process
 * itself holds are tried; hints change the order and never add a port. Source: docs/dev/wire/language-server.md, "Ports".
 */
export async function listPorts(
  host: Host,
  { row, flags, lastGood }: Holder,
  trace: Trace,
  signal: AbortSignal,
): Promise<readonly CandidatePort[]> {
  const subject = `pid ${row.pid}`;
  const answer = await host.listListening(row.pid, signal);
  if (!answer.ok) {
    trace.rejected("ports", subject, "listening", `${answer.why}; without that nothing may be sent to it`);
    return [];
  }
  const usable: CandidatePort[] = [];
  for (const socket of answer.value) {
    const name = `port ${socket.port}`;
    if (!isLoopbackAddress(socket.address))
      trace.rejected("ports", name, "loopback", `listens on ${socket.address}, not on loopback`);
    else if (socket.shared) trace.rejected("ports", name, "shared", "another process listens on the same port too");
    else if (!usable.some((other) => other.port === socket.port && other.host === "127.0.0.1")) {
      usable.push({ host: socket.address, port: socket.port });
    }
  }
  if (answer.value.length === 0)
    trace.rejected("ports", subject, "listening", "listens on no port: it has just started, or is left over");
  const ordered = usable.toSorted((a, b) => rank(a, flags, lastGood) - rank(b, flags, lastGood) || a.port - b.port);
  if (ordered.length > maxPorts)
    trace.note("ports", subject, "bound", `only the first ${maxPorts} of ${ordered.length} ports are asked`);
  noteHints(ordered, flags, trace);
  return ordered.slice(0, maxPorts);
}

function rank(candidate: CandidatePort, flags: Flags, lastGood: number | undefined): number {
  const told = ["server_port", "https_server_port", "http_server_port"].some(
    (name) => portFlag(flags, name) === candidate.port,
  );
  const other = ["lsp_port", "chat_client_port"].some((name) => portFlag(flags, name) === candidate.port);
  const editor = portFlag(flags, "extension_server_port");
  const family = candidate.host === "127.0.0.1" ? 0 : 10; // some also listen on ::1; the same server either way
  if (candidate.port === lastGood) return -1;
  if (told) return family;
  if (other || candidate.port === editor) return family + 3;
  return editor !== undefined && candidate.port > editor ? family + 1 : family + 2;
}

/** Says which well-known guesses led nowhere, so that a person does not try them by hand. */
function noteHints(ports: readonly CandidatePort[], flags: Flags, trace: Trace): void {
  const editor = portFlag(flags, "extension_server_port");
  if (editor === undefined || ports.some(({ port }) => port === editor + 3) || ports.length > 0) return;
  trace.note(
    "ports",
    `port ${editor + 3}`,
    "hint",
    "would be the usual one, but this process does not hold it; not asked",
  );
}
