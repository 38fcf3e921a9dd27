import { mkdtempSync, renameSync, statSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { hasFileModes, modeOf } from "../../../test/support/file-mode.ts";
import { systemClock } from "../../base/clock.ts";
import { selfSigned } from "../../simulator/wire/self-signed.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import type { Listening, ListenOptions } from "./listen.ts";
import { openTlsFiles } from "./tls-files.ts";

const opened: Listening[] = [];
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

/** Certificate and key in files; `replace` puts new ones in their place, as a renewal does. */
function certificates() {
  const at = folder();
  const files = { certFile: join(at, "cert.pem"), keyFile: join(at, "key.pem") };
  const put = (file: string, text: string) => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  const replace = () => {
    const made = selfSigned(Date.now());
    put(files.certFile, made.cert);
    put(files.keyFile, made.key);
    return made.cert;
  };
  const cert = replace();
  return { files, cert, replace, put };
}

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

const overTls = (port: number, ca: string, path = "/health", key = fakeKey) =>
  answerOf((take) => {
    const headers = { authorization: `Bearer ${key}` };
    return requestHttps({ host: "127.0.0.1", port, path, ca, headers, agent: false }, take);
  });

const overSocket = (socketPath: string, headers: Readonly<Record<string, string>> = {}) =>
  answerOf((take) => requestHttp({ socketPath, path: "/v1/models", headers, agent: false }, take));

describe("an address beyond loopback", () => {
  it("is refused in clear text, and the refusal names the flag", async () => {
    await expect(listenOn({ host: "0.0.0.0" })).rejects.toMatchObject({
      code: "invalid_request",
      hint: expect.stringContaining("--allow-cleartext"),
    });
    expect((await listenOn({ host: "0.0.0.0", allowCleartext: true })).listening.url).toMatch(/^http:/);
  });

  it("is served over TLS with the same key", async () => {
    const { files, cert } = certificates();
    const tls = openTlsFiles({ ...files, onProblem: () => undefined });
    const { listening } = await listenOn({ host: "0.0.0.0", tls });
    expect(listening.url).toBe(`https://0.0.0.0:${listening.port}`);
    expect(await overTls(listening.port, cert)).toMatchObject({
      status: 200,
      text: expect.stringContaining("version"),
    });
    expect(await overTls(listening.port, cert, "/v1/models", "a wrong key of this gateway")).toMatchObject({
      status: 401,
    });
    await expect(fetch(`http://127.0.0.1:${listening.port}/health`)).rejects.toThrow(/fetch failed/); // clear text gets nothing
  });
});

describe("the certificate of a gateway that runs", () => {
  it("is read again when its files change", async () => {
    const { files, cert, replace } = certificates();
    const problems: Error[] = [];
    const { listening } = await listenOn({
      tls: openTlsFiles({ ...files, onProblem: (error) => problems.push(error) }),
    });
    expect((await overTls(listening.port, cert)).status).toBe(200);
    const renewed = replace();
    expect((await overTls(listening.port, renewed)).status).toBe(200);
    await expect(overTls(listening.port, cert)).rejects.toThrow(/certificate|signature/i);
    expect(problems).toEqual([]);
  });

  it("stays in use while the new files cannot be used, which is reported once", async () => {
    const { files, cert, put, replace } = certificates();
    const problems: string[] = [];
    const tls = openTlsFiles({ ...files, onProblem: ({ message }) => problems.push(message) });
    const { listening } = await listenOn({ tls });
    put(files.certFile, selfSigned(Date.now()).cert); // its key has not followed yet
    for (let i = 0; i < 2; i++) expect((await overTls(listening.port, cert)).status).toBe(200);
    expect(problems).toEqual([expect.stringContaining("The files for TLS cannot be used")]);
    expect((await overTls(listening.port, replace())).status).toBe(200);
  });

  it("has to be usable at the start", () => {
    const { files, put } = certificates();
    put(files.keyFile, "no key");
    expect(() => openTlsFiles({ ...files, onProblem: () => undefined })).toThrow(
      expect.objectContaining({ code: "invalid_request", hint: expect.stringContaining("PEM") }),
    );
  });
});

const unix = (path: string) => ({ kind: "unix", path }) as const;

describe.runIf(hasFileModes)("a Unix domain socket", () => {
  it("has mode 0600, and needs the key as well", async () => {
    const socket = join(folder(), "millrace.sock");
    const mask = process.umask();
    const { listening } = await listenOn({ socket: unix(socket) });
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

  it("is not taken from a gateway that listens there, and nothing else is replaced", async () => {
    const socket = join(folder(), "millrace.sock");
    await listenOn({ socket: unix(socket) });
    await expect(listenOn({ socket: unix(socket) })).rejects.toMatchObject({
      code: "invalid_request",
      param: "socket",
    });
    expect(await overSocket(socket)).toMatchObject({ status: 401 });
    const file = join(folder(), "notes.txt");
    writeFileSync(file, "mine");
    await expect(listenOn({ socket: unix(file) })).rejects.toMatchObject({ param: "socket" });
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
    await listenOn({ socket: unix(socket) });
    expect(await overSocket(socket)).toMatchObject({ status: 401 });
  });
});

describe.runIf(hasFileModes)("a named pipe", () => {
  it("is served without a look at files and their modes, and is not taken twice", async () => {
    const socket = { kind: "pipe", path: join(folder(), "pipe") } as const; // stands for a name of Windows
    const { listening } = await listenOn({ socket });
    expect(listening.url).toBe(`pipe:${socket.path}`);
    expect(await overSocket(socket.path)).toMatchObject({ status: 401 });
    expect(await overSocket(socket.path, { authorization: `Bearer ${fakeKey}` })).toMatchObject({ status: 200 });
    await expect(listenOn({ socket })).rejects.toThrow(/^The pipe .* is in use/);
    await listening.close();
    await listenOn({ socket });
  });
});
