import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { findPortHolder, portReason, portTaken } from "./port-holder.ts";

const never = new AbortController().signal;

test.runIf(process.platform === "linux")("the process that listens on a port is found", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  expect(await findPortHolder(port, fakeIo({ homeFolder: tmpdir() }), never)).toMatchObject({ pid: process.pid });
  server.close();
  await once(server, "close");
  expect(await findPortHolder(port, fakeIo({ homeFolder: tmpdir() }), never)).toBeUndefined();
});

test("the error says who has the port, which clients know it, and what to do", () => {
  const holder = { pid: 12, command: { program: "/usr/bin/node", args: ["/srv/app.js", "--token=x"] } };
  expect(portTaken(42_100, holder, { kind: "clients", names: ["aider", "codex"] })).toMatchObject({
    message: "Port 42100 is in use by process 12 (node /srv/app.js). aider and codex are set up for it.",
    param: "port",
  });
  expect(portTaken(42_100, undefined, { kind: "option" }).message).toContain("perhaps of another user");
});

test("a port is fixed when the user set it, or when a client was set up for it", () => {
  const folder = temporaryFolder();
  expect(portReason(new Set(["json"]), folder)).toBeUndefined();
  expect(portReason(new Set(["port"]), folder)).toEqual({ kind: "option" });
  mkdirSync(join(folder, "setup"));
  writeFileSync(join(folder, "setup/codex.json"), "{}");
  expect(portReason(new Set(), folder)).toEqual({ kind: "clients", names: ["codex"] });
});
