import { readFile } from "node:fs/promises";

/** A connection by its two ports: ours, and its client's. */
export interface PortPair {
  readonly ours: number;
  readonly theirs: number;
}

/** Whether the client has read the bytes sent to it. Also `unread` if the client's end is gone without the evidence of a proper close. */
export type ReadState = "read" | "unread";

/** One end of a connection in the kernel's table. */
interface Row {
  readonly state: number;
  /** Bytes sent that the other end has not taken. */
  readonly sending: number;
  /** Bytes received that its program has not read. */
  readonly unread: number;
}

const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
const closeWait = 8;

/**
 * Whether the clients of these connections have read all that was sent. On loopback both ends of a connection are in the kernel's
 * table, so unread bytes show in the client's receive queue. Undefined on systems without such a table.
 */
export async function lookAtSockets(pairs: readonly PortPair[]): Promise<((pair: PortPair) => ReadState) | undefined> {
  const wanted = new Set(pairs.map(({ theirs }) => hex(theirs)));
  const rows = new Map<string, Row>();
  const texts = await Promise.all(tables.map((table) => readFile(table, "latin1").catch(() => undefined)));
  if (texts.every((text) => text === undefined)) return undefined;
  for (const text of texts) readRows(text ?? "", wanted, rows);
  return ({ ours, theirs }) =>
    verdictOf(rows.get(`${hex(theirs)} ${hex(ours)}`), rows.get(`${hex(ours)} ${hex(theirs)}`));
}

/** `theirs` is not there where the client is on another machine, or has closed its end. */
export function verdictOf(theirs: Row | undefined, ours: Row | undefined): ReadState {
  if (ours !== undefined && ours.sending > 0) return "unread";
  if (theirs === undefined) return ours === undefined ? "unread" : "read"; // a reset leaves neither end; a proper close leaves ours
  const fin = theirs.state === closeWait ? 1 : 0; // the end that we sent counts as a byte
  return theirs.unread > fin ? "unread" : "read";
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** Adds the rows that have one of the wanted ports, keyed by local port and remote port. */
function readRows(text: string, wanted: ReadonlySet<string>, rows: Map<string, Row>): void {
  for (const line of text.split("\n")) {
    const [, local = "", remote = "", state = "", queues = ""] = line.trim().split(/\s+/, 5);
    const [own, other] = [local.slice(-4), remote.slice(-4)];
    if (!wanted.has(own) && !wanted.has(other)) continue;
    const [sending = "", unread = ""] = queues.split(":");
    rows.set(`${own} ${other}`, {
      state: Number.parseInt(state, 16),
      sending: Number.parseInt(sending, 16),
      unread: Number.parseInt(unread, 16),
    });
  }
}
