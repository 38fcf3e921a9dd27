import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";

/** A row of Linux's tables of TCP sockets; addresses as the kernel spells them. Source: proc_net_tcp.rst of the Linux kernel. */
export interface TcpRow {
  readonly local: string;
  readonly remote: string;
  readonly state: string;
  readonly uid: number;
  /** "0" for a socket that no program holds any more: its uid says nothing then. */
  readonly inode: string;
}

/** Every TCP socket of this network namespace, of every user. */
export async function tcpRows(): Promise<readonly TcpRow[]> {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((table) => readFile(table, "latin1").catch(() => ""));
  return (await Promise.all(tables)).flatMap(parseTcpTable);
}

export function parseTcpTable(table: string): readonly TcpRow[] {
  return table.split("\n").flatMap((line) => {
    const [number = "", local, remote, state, , , , uid, , inode] = line.trim().split(/\s+/);
    const isRow = /^\d+:$/.test(number) && local !== undefined && remote !== undefined && inode !== undefined;
    return isRow ? [{ local, remote, state: state ?? "", uid: Number(uid), inode }] : [];
  });
}

/** `:` and a port, as the tables end an address. */
export function portInTable(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The two ends of a connection, as the side that accepted it sees them. */
type Ends = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">;

/** The user whose program holds the other end of an accepted IPv4 connection; undefined where no program does, or it is not of this namespace. */
export function userOfClient(rows: readonly TcpRow[], ends: Ends): number | undefined {
  const [client, here] = [inTable(ends.remoteAddress, ends.remotePort), inTable(ends.localAddress, ends.localPort)];
  if (client === undefined || here === undefined) return undefined;
  const mapped = "0000000000000000FFFF0000"; // an IPv6 socket that asks an IPv4 address
  const held = ({ local, remote, inode }: TcpRow) =>
    inode !== "0" &&
    [
      [client, here],
      [mapped + client, mapped + here],
    ].some(([a, b]) => local === a && remote === b);
  return rows.find(held)?.uid;
}

function inTable(address = "", port = 0): string | undefined {
  const bytes = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1).toReversed();
  const hex = bytes?.map((byte) => Number(byte).toString(16).toUpperCase().padStart(2, "0")).join("");
  return hex === undefined ? undefined : hex + portInTable(port);
}

/** The systems on which `isOfSameUser` can tell. */
export function tellsUserOfClient(platform: string): boolean {
  return platform === "linux" || platform === "darwin";
}

/** Whether a program of this process's user holds the other end of an accepted connection of loopback. False where the system does not tell. */
export async function isOfSameUser(socket: Ends, platform: string = process.platform): Promise<boolean> {
  const self = process.getuid?.();
  if (self === undefined) return false;
  if (platform === "linux") return userOfClient(await tcpRows(), socket) === self;
  return platform === "darwin" && holdsClient(await ownSockets(self, socket.remotePort), socket);
}

/** What lsof tells of this user's sockets that have the port. */
function ownSockets(uid: number, port = 0): Promise<string> {
  const args = ["-nP", "-a", "-u", String(uid), `-iTCP:${port}`, "-Fn"];
  return new Promise((resolve) => {
    execFile("lsof", args, { timeout: 5_000 }, (error, stdout) => resolve(error === null ? stdout : ""));
  });
}

/** Whether the output has the connection, from the client's side. */
export function holdsClient(output: string, { remoteAddress, remotePort, localAddress, localPort }: Ends): boolean {
  return output.split("\n").includes(`n${remoteAddress}:${remotePort}->${localAddress}:${localPort}`);
}
