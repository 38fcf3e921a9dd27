import type { ListeningSocket } from "../host/host.ts";

const anyAddress: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Whether a connection to `own` may reach `other`, both on one port. A socket for every address takes the connections of its family. A
 * socket for every IPv6 address never takes one to 127.0.0.1, because the socket of the very address comes first. So another user, who
 * may listen on `[::]` beside an IDE, cannot hide the IDE. Source: Linux `ip(7)` and `ipv6(7)`, `IPV6_V6ONLY`.
 */
export function overlap(other: string, own: string): boolean {
  if (other === own || anyAddress.has(own)) return true;
  return anyAddress.has(other) && other.includes(":") === own.includes(":");
}

/** The sockets of one process out of all sockets, marked if another process could answer instead. */
export function holdings(
  rows: readonly { readonly pid: number; readonly address: string; readonly port: number }[],
  pid: number,
): readonly ListeningSocket[] {
  return rows
    .filter((row) => row.pid === pid)
    .map(({ address, port }) => ({
      address,
      port,
      shared: rows.some((other) => other.pid !== pid && other.port === port && overlap(other.address, address)),
    }));
}
