import type { Answer, Host, ProcessRow } from "./host.ts";

/** What was found at discovery and must still be so when a credential is about to be sent. */
export interface Holder {
  readonly pid: number;
  readonly startedAtMs: number | undefined;
  readonly host: string;
  readonly port: number;
}

const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "::1"]);

export function isLoopback(address: string): boolean {
  return loopback.has(address);
}

/** Whether a process may be given a credential at all: it runs, on this machine's network, as this user. */
export function checkOwner(row: ProcessRow): Answer<undefined> {
  if (row.zombie) return { ok: false, why: "has ended and waits to be collected by its parent" };
  if (row.elsewhere !== undefined) return { ok: false, why: row.elsewhere };
  if (row.owner === "other") return { ok: false, why: "belongs to another user; run millrace as the user of the IDE" };
  if (row.owner === "unknown") return { ok: false, why: "the system does not say whose process it is" };
  return { ok: true, value: undefined };
}

/**
 * Asks the system anew whether that same process of this user, and nobody else, listens on that loopback port. A
 * credential is sent only after a yes. Source: design.md, decision 5.
 */
export async function verifyHolder(host: Host, holder: Holder, signal: AbortSignal): Promise<Answer<undefined>> {
  if (!isLoopback(holder.host)) return { ok: false, why: "the address is not loopback" };
  const row = await host.readProcess(holder.pid, signal);
  if (row === undefined) return { ok: false, why: "the process has ended" };
  const owner = checkOwner(row);
  if (!owner.ok) return owner;
  if (row.startedAtMs !== holder.startedAtMs)
    return { ok: false, why: "the process has ended; another one has its number" };
  const sockets = await host.listListening(holder.pid, signal);
  if (!sockets.ok) return sockets;
  const socket = sockets.value.find((own) => own.port === holder.port && own.address === holder.host);
  if (socket === undefined) return { ok: false, why: "the process no longer listens on that port" };
  return socket.shared
    ? { ok: false, why: "another process listens on the same port too" }
    : { ok: true, value: undefined };
}
