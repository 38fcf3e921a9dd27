import type { ListeningSocket } from "../host/host.ts";

const anyAddress: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Whether a connection to one of two listening addresses may reach the other; a socket for every address takes all. */
export function overlap(a: string, b: string): boolean {
  return a === b || anyAddress.has(a) || anyAddress.has(b);
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
