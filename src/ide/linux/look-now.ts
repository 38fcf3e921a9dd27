import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import type { HolderLook } from "../host/host.ts";
import * as parse from "./parse.ts";

const pageBytes = 4096;

/**
 * A process's identity and its listener at one port, read from `/proc` without a wait: nothing here takes longer because this process
 * is busy. It takes well under a millisecond, because the rows of listening sockets come first in the kernel's table and the rest of
 * it is not read. Only files that the kernel answers from its own memory are read, so none can hang.
 */
export function lookNow(
  proc: string,
  { pid, port, uid, bootTime }: { pid: number; port: number; uid: number; bootTime: () => number | undefined },
): HolderLook {
  const stat = parse.parseStat(read(`${proc}/${pid}/stat`) ?? "");
  if (stat === undefined) return { row: undefined, sockets: { ok: true, value: [] } };
  const owner = parse.parseUid(read(`${proc}/${pid}/status`) ?? "");
  const zombie = stat.state === "Z" || stat.state === "X";
  const own = link(`${proc}/self/ns/net`);
  const theirs = zombie ? undefined : link(`${proc}/${pid}/ns/net`);
  const differs = own !== undefined && theirs !== undefined && own !== theirs;
  const row = {
    owner: owner === undefined ? "unknown" : owner === uid ? "self" : "other",
    startedAtMs: parse.startedAtMs(bootTime(), stat.startTicks),
    zombie,
    elsewhere: differs ? "runs in a container with its own network" : undefined,
  } as const;
  return { row, sockets: sockets(`${proc}/${pid}`, port) };
}

/** When the machine started, epoch seconds. */
export function readBootTime(proc: string): number | undefined {
  return parse.parseBootTime(read(`${proc}/stat`) ?? "");
}

function sockets(folder: string, port: number): HolderLook["sockets"] {
  const tables = [readListening(`${folder}/net/tcp`), readListening(`${folder}/net/tcp6`)];
  if (tables.every((table) => table === undefined)) return { ok: false, why: "its socket table cannot be read" };
  const rows = tables.flatMap((table) => parse.parseTcpTable(table ?? "")).filter((row) => row.port === port);
  const wanted = new Set(rows.map((row) => row.inode));
  let names: readonly string[];
  try {
    names = readdirSync(`${folder}/fd`);
  } catch {
    return { ok: false, why: "the system does not let this user see which sockets it holds" };
  }
  const held = new Set<string>();
  for (const name of names) {
    if (held.size === wanted.size) break;
    const inode = parse.parseSocketLink(link(`${folder}/fd/${name}`) ?? "");
    if (inode !== undefined && wanted.has(inode)) held.add(inode);
  }
  return { ok: true, value: parse.joinSockets(rows, held) };
}

/** The head of a socket table, up to the first row that does not listen. */
function readListening(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return undefined;
  }
  try {
    let text = "";
    const page = Buffer.allocUnsafe(pageBytes);
    for (;;) {
      const bytes = readSync(fd, page, 0, page.length, null);
      if (bytes === 0) return text;
      text += page.toString("latin1", 0, bytes);
      if (/^\s*\d+: \S+ \S+ (?!0A)[0-9A-F]{2} /m.test(text)) return text;
    }
  } catch {
    return undefined; // the process ended while we read
  } finally {
    closeSync(fd);
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
