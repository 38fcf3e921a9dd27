import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { holdsClient, isOfSameUser, parseTcpTable, userOfClient } from "./socket-owner.ts";

// Recorded on Linux 6; the first of two clients is user 65534's, the second asks by an IPv6 socket
const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const row = (local: string, remote: string, uid: number, inode: number, state = "01") =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid}        0 ${inode} 1 00000000 20 4 30 10 -1`;
const door = "0100007F:2CAA";
const mapped = (end: string) => `0000000000000000FFFF0000${end}`;
const from = (remotePort: number) => ({
  remoteAddress: "127.0.0.1",
  remotePort,
  localAddress: "127.0.0.1",
  localPort: 11_434,
});

it("finds the user of a client, also of one with an IPv6 socket, and never the gateway's own end", () => {
  const tcp = [
    head,
    row(door, "00000000:0000", 1000, 7, "0A"),
    row(door, "0100007F:AFA0", 1000, 8),
    row("0100007F:AFA0", door, 65_534, 9),
    row("0200007F:AFA1", door, 1001, 10), // 127.0.0.2
  ].join("\n");
  const tcp6 = [head, row(mapped("0100007F:AFA1"), mapped(door), 1002, 11)].join("\n");
  const rows = [tcp, tcp6].flatMap(parseTcpTable);
  expect(rows).toHaveLength(5);
  expect(userOfClient(rows, from(0xafa0))).toBe(65_534);
  expect(userOfClient(rows, from(0xafa1))).toBe(1002);
  expect(userOfClient(rows, { ...from(0xafa1), remoteAddress: "127.0.0.2" })).toBe(1001);
  expect(userOfClient(rows, from(0xafa2))).toBeUndefined();
  expect(userOfClient(rows, { ...from(0xafa0), remoteAddress: "::1" })).toBeUndefined();
});

it("does not take a socket that nobody holds any more for root's", () => {
  const rows = parseTcpTable([head, row("0100007F:AFA0", door, 0, 0, "05")].join("\n"));
  expect(userOfClient(rows, from(0xafa0))).toBeUndefined();
});

it("reads a connection in lsof's output from the client's side alone", () => {
  const output = "p15524\nf18\nn127.0.0.1:44960->127.0.0.1:11434\n";
  expect(holdsClient(output, from(44_960))).toBe(true);
  expect(holdsClient("p1\nf9\nn127.0.0.1:11434->127.0.0.1:44960\n", from(44_960))).toBe(false);
});

const hasLsof = (() => {
  try {
    return execFileSync("lsof", ["-v"], { stdio: "ignore" }) !== undefined;
  } catch {
    return false;
  }
})();

it.each([
  ["linux", process.platform === "linux"],
  ["darwin", process.platform !== "win32" && hasLsof],
  ["win32", true],
])("knows a real connection of its own user, as on %s", async (platform, canAsk) => {
  if (!canAsk) return;
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const client = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  const [accepted] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => void accepted.destroy());
  expect(await isOfSameUser(accepted, platform)).toBe(platform !== "win32");
});
