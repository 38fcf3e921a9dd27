import { mkdtempSync, renameSync, statSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { systemClock } from "../../base/clock.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { type Listener, type ListenOptions, listenOnSocket } from "./listen.ts";

const opened: Listener[] = [];
afterEach(async () => {
  for (const listening of opened.splice(0)) await listening.close();
});

async function listenOn(options: Partial<ListenOptions>) {
  const fake = fakeGateway({ clock: systemClock, allowedHosts: ["gateway.test"] });
  const listening = await fake.gateway.listen({ host: "127.0.0.1", port: 0, ...options });
  opened.push(listening);
  return { ...fake, listening };
}

const folder = () => mkdtempSync(join(tmpdir(), "millrace-net-"));

function answerOf(start: (take: (response: IncomingMessage) => void) => NodeJS.WritableStream) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const request = start((response) => {
      let text = "";
      response.on("data", (piece: Buffer) => (text += piece.toString()));
      response.once("end", () => resolve({ status: response.statusCode, text }));
    });
    request.once("error", reject);
    request.end();
  });
}

const overSocket = (socketPath: string, headers: Readonly<Record<string, string>> = {}) =>
  answerOf((take) => requestHttp({ socketPath, path: "/v1/models", headers, agent: false }, take));

describe.runIf(hasFileModes)("a Unix domain socket", () => {
  it("has mode 0600, and needs the key as well", async () => {
    const socket = join(folder(), "millrace.sock");
    const mask = process.umask();
    const { listening } = await listenOn({ socket });
    expect([process.umask(), modeOf(socket, 0o600)]).toEqual([mask, 0o600]);
    expect(listening.url).toBe(`unix:${socket}`);
    expect(await overSocket(socket)).toMatchObject({ status: 401 });
    expect(await overSocket(socket, { authorization: `Bearer ${fakeKey}` })).toMatchObject({ status: 200 });
    expect(await overSocket(socket, { host: "evil.test", authorization: `Bearer ${fakeKey}` })).toMatchObject({
      status: 403,
    });
    await listening.close();
    expect(statSync(socket, { throwIfNoEntry: false })).toBeUndefined();
  });

  it("is its user's alone before the first connection", async () => {
    const masks: number[] = [];
    const server = createServer();
    const listen = server.listen.bind(server) as (...args: unknown[]) => Server;
    server.listen = (...args: unknown[]) => {
      masks.push(process.umask()); // the system makes the socket in this call
      return listen(...args);
    };
    await listenOnSocket(server, join(folder(), "millrace.sock"));
    expect(masks).toEqual([0o177]);
    server.close();
  });

  it("is not taken from a gateway that listens there, and nothing else is replaced", async () => {
    const socket = join(folder(), "millrace.sock");
    await listenOn({ socket });
    await expect(listenOn({ socket })).rejects.toMatchObject({
      code: "invalid_request",
      param: "socket",
    });
    expect(await overSocket(socket)).toMatchObject({ status: 401 });
    const file = join(folder(), "notes.txt");
    writeFileSync(file, "mine");
    await expect(listenOn({ socket: file })).rejects.toMatchObject({ param: "socket" });
    expect(statSync(file).size).toBe(4);
  });

  it("that a dead process left is replaced", async () => {
    const at = folder();
    const [socket, moved] = [join(at, "millrace.sock"), join(at, "moved.sock")];
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(moved, resolve));
    renameSync(moved, socket); // so that closing does not remove it
    await new Promise<void>((resolve) => dead.close(() => resolve()));
    expect(statSync(socket).isSocket()).toBe(true);
    await listenOn({ socket });
    expect(await overSocket(socket)).toMatchObject({ status: 401 });
  });
});
