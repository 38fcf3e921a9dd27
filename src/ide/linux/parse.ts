import { type CommandLine, type ListeningSocket, type ServerEnvironment, serverEnvironment } from "../host/host.ts";
import { maxCommandLength } from "../process/command-line.ts";
import { overlap } from "../process/shared-ports.ts";

/** Ticks per second of every time in `/proc`; 100 on all Linux builds that user programs see. */
const ticksPerSecond = 100;

/** `/proc/<pid>/cmdline`: words ended by NUL. A process that rewrote its title may have blanks instead; then `program` holds all. */
export function parseCmdline(text: string): CommandLine {
  const words = text.slice(0, maxCommandLength).split("\0");
  if (words.at(-1) === "") words.pop();
  return { program: words[0] ?? "", args: words.slice(1) };
}

/** `/proc/<pid>/environ`: `NAME=VALUE` ended by NUL; the first of two equal names wins, as for `getenv`. */
export function parseEnviron(text: string): ServerEnvironment {
  return serverEnvironment(
    text
      .split("\0")
      .map((entry) => [entry.slice(0, Math.max(0, entry.indexOf("="))), entry.slice(entry.indexOf("=") + 1)]),
  );
}

/** The fields of `/proc/<pid>/stat` that we use. `startTicks` counts since boot. */
export interface Stat {
  /** The kernel's name of the process, at most 15 characters; may hold blanks and brackets. */
  readonly comm: string;
  readonly state: string;
  readonly parentPid: number;
  readonly startTicks: number;
}

export function parseStat(text: string): Stat | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return undefined;
  const fields = text.slice(close + 2).split(" ");
  const parentPid = Number(fields[1]);
  const startTicks = Number(fields[19]);
  const state = fields[0] ?? "";
  if (!/^[A-Za-z]$/.test(state) || !Number.isInteger(parentPid) || !Number.isInteger(startTicks)) return undefined;
  return { comm: text.slice(open + 1, close), state, parentPid, startTicks };
}

/** The effective user id from `/proc/<pid>/status`. */
export function parseUid(text: string): number | undefined {
  const match = /^Uid:\s+\d+\s+(\d{1,10})\b/m.exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** `btime` of `/proc/stat`: when the machine started, epoch seconds. */
export function parseBootTime(text: string): number | undefined {
  const match = /^btime (\d{1,12})$/m.exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

export function startedAtMs(bootTimeSeconds: number | undefined, startTicks: number): number | undefined {
  return bootTimeSeconds === undefined ? undefined : bootTimeSeconds * 1000 + (startTicks * 1000) / ticksPerSecond;
}

/** A row of `/proc/<pid>/net/tcp` in state LISTEN. */
export interface ListenRow {
  readonly address: string;
  readonly port: number;
  readonly inode: string;
}

const listenState = "0A";

/** The listening rows of `/proc/<pid>/net/tcp` or `tcp6`; anything else, and rows that make no sense, are left out. */
export function parseTcpTable(text: string): readonly ListenRow[] {
  const rows: ListenRow[] = [];
  for (const line of text.split("\n")) {
    const fields = line.trim().split(/\s+/);
    if (fields[3] !== listenState) continue;
    const [hexAddress, hexPort] = (fields[1] ?? "").split(":");
    const address = decodeAddress(hexAddress ?? "");
    const inode = fields[9] ?? "";
    if (address === undefined || !/^[0-9A-F]{4}$/i.test(hexPort ?? "") || !/^[1-9]\d{0,19}$/.test(inode)) continue;
    const port = Number.parseInt(hexPort ?? "", 16);
    if (port > 0) rows.push({ address, port, inode });
  }
  return rows;
}

/** The kernel prints addresses as 32-bit words in the machine's byte order; every machine we run on is little-endian. */
function decodeAddress(hex: string): string | undefined {
  if (!/^(?:[0-9A-F]{8}|[0-9A-F]{32})$/i.test(hex)) return undefined;
  const bytes: number[] = [];
  for (let word = 0; word < hex.length; word += 8) {
    for (let byte = 6; byte >= 0; byte -= 2) bytes.push(Number.parseInt(hex.slice(word + byte, word + byte + 2), 16));
  }
  if (bytes.length === 4) return bytes.join(".");
  const head = bytes.slice(0, 12);
  if (head.slice(0, 10).every((byte) => byte === 0) && head[10] === 255 && head[11] === 255)
    return bytes.slice(12).join(".");
  if (bytes.every((byte) => byte === 0)) return "::";
  if (bytes.slice(0, 15).every((byte) => byte === 0) && bytes[15] === 1) return "::1";
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)).toString(16));
  return groups.join(":");
}

/** The inode in a link of `/proc/<pid>/fd` that is a socket (`socket:[12345]`). */
export function parseSocketLink(link: string): string | undefined {
  return /^socket:\[(\d{1,20})\]$/.exec(link)?.[1];
}

/** The rows whose socket this process has open; `shared` if another process could be reached on the same port. */
export function joinSockets(rows: readonly ListenRow[], ownInodes: ReadonlySet<string>): readonly ListeningSocket[] {
  return rows
    .filter((row) => ownInodes.has(row.inode))
    .map((own) => ({
      address: own.address,
      port: own.port,
      shared: rows.some(
        (row) => row.port === own.port && !ownInodes.has(row.inode) && overlap(row.address, own.address),
      ),
    }));
}

/** Where this machine is a guest of another system, from the kernel's own words. */
export function isWsl(osRelease: string): boolean {
  return /microsoft|wsl/i.test(osRelease);
}
