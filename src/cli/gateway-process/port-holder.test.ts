import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  findPortHolder,
  holderFromLsof,
  holderFromNetstat,
  listenersIn,
  portReason,
  portTaken,
} from "./port-holder.ts";

const never = new AbortController().signal;

test.runIf(process.platform === "linux")("the process that listens on a port is found", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  expect(await findPortHolder(port, "linux", never)).toMatchObject({ pid: process.pid });
  server.close();
  await once(server, "close");
  expect(await findPortHolder(port, "linux", never)).toBeUndefined();
});

test("of the kernel's table, only listeners on that port count", () => {
  const table = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 0100007F:A474 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1",
    "   1: 0100007F:A474 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 31338 1",
    "   2: 0100007F:A475 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31339 1",
  ].join("\n");
  expect(listenersIn(table, 42_100)).toEqual(["31337"]);
});

test("macOS and Windows show it through lsof and netstat", async () => {
  expect(holderFromLsof("p812\ncnode\nf21\n")).toEqual({ pid: 812, command: "node" });
  expect(holderFromLsof("")).toBeUndefined();
  const listed = [
    "  Proto  Lokale Adresse         Remoteadresse          Status           PID",
    "  TCP    127.0.0.1:42100        127.0.0.1:50000        HERGESTELLT      4",
    "  TCP    127.0.0.1:42100        0.0.0.0:0              ABHÖREN          7788",
  ].join("\r\n");
  expect(holderFromNetstat(listed, 42_100)).toBe(7788);
  expect(holderFromNetstat(listed, 2100)).toBeUndefined();
  const run = (program: string) =>
    Promise.resolve({
      ok: true as const,
      value: { stdout: program === "netstat" ? listed : '"node.exe","7788","Console","1","50 K"\r\n', exitCode: 0 },
    });
  expect(await findPortHolder(42_100, "win32", never, run)).toEqual({ pid: 7788, command: "node.exe" });
});

test("the error says who has the port, which clients know it, and what to do", () => {
  const holder = { pid: 12, command: "node /srv/app.js" };
  expect(portTaken(42_100, holder, { kind: "clients", names: ["aider", "codex"] })).toMatchObject({
    message: "Port 42100 is in use by process 12 (node /srv/app.js). aider and codex are set up for it.",
    param: "port",
  });
  expect(portTaken(42_100, undefined, { kind: "option" }).message).toContain("perhaps of another user");
});

test("a port is fixed when the user set it, or when a client was set up for it", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-port-"));
  expect(portReason(new Set(["json"]), folder)).toBeUndefined();
  expect(portReason(new Set(["port"]), folder)).toEqual({ kind: "option" });
  mkdirSync(join(folder, "setup"));
  writeFileSync(join(folder, "setup/codex.json"), "{}");
  expect(portReason(new Set(), folder)).toEqual({ kind: "clients", names: ["codex"] });
});
