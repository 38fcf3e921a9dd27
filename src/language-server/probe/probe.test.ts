import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Secret } from "../../base/secret.ts";
import { fakeToken, startRpcServer } from "../rpc-server.fake.ts";
import { probePort } from "./probe.ts";

const never = new AbortController().signal;

function target(port: number, token = fakeToken) {
  return { host: "127.0.0.1", port, csrfToken: new Secret(token), variant: "windsurf", attemptMs: 30_000 } as const;
}

async function withSockets<T>(onSocket: (socket: Socket) => void, use: (port: number) => Promise<T>): Promise<T> {
  const sockets = new Set<Socket>();
  return withNetServer(
    createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      onSocket(socket);
    }),
    use,
    () => {
      for (const socket of sockets) socket.destroy();
    },
  );
}

async function withNetServer<T>(server: Server, use: (port: number) => Promise<T>, drop = () => {}): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listens on TCP
  try {
    return await use(port);
  } finally {
    drop();
    await new Promise((resolve) => server.close(resolve));
  }
}

const methods = { getUnleashData: () => ({}) };

describe("probePort finds", () => {
  it("gRPC without TLS, by sending the token and nothing else", async () => {
    let metadata: unknown;
    const spying = {
      getUnleashData: (request: { metadata?: unknown }) => {
        metadata = request.metadata;
        return {};
      },
    };
    await using server = await startRpcServer(spying);
    expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol: "grpc", tls: false });
    expect(server.requests).toHaveLength(1);
    expect(metadata).toBeUndefined();
  });

  it("a server whose answer arrives while this process is blocked for longer than an attempt may take", async () => {
    await using server = await startRpcServer(methods);
    const block = () => {
      const until = performance.now() + 60;
      while (performance.now() < until);
    };
    let blocks = 10;
    const blocking = setInterval(() => (blocks-- > 0 ? block() : clearInterval(blocking)), 1);
    const found = await probePort({ ...target(server.port), attemptMs: 50 }, never);
    clearInterval(blocking);
    expect(found).toEqual({ ok: true, protocol: "grpc", tls: false });
  });

  it("gRPC with TLS", async () => {
    await using server = await startRpcServer(methods, { tls: true });
    expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol: "grpc", tls: true });
  });

  it("Connect with TLS where the server has no HTTP/2", async () => {
    await using server = await startRpcServer(methods, { tls: true, alpn: "http/1.1" });
    expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol: "connect", tls: true });
  });

  it("Connect without TLS where the server has no HTTP/2", async () => {
    await using server = await startRpcServer(methods, { http: "1.1" });
    expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol: "connect", tls: false });
  });

  it("JSON where the server takes nothing else", async () => {
    await using server = await startRpcServer(methods, { http: "1.1", only: "application/json" });
    expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol: "connect-json", tls: false });
  });

  it("a server that answers with an error of its own", async () => {
    const failing = {
      getUnleashData: () => {
        throw new ConnectError("api_key not set", Code.FailedPrecondition);
      },
    };
    await using server = await startRpcServer(failing);
    expect(await probePort(target(server.port), never)).toEqual({
      ok: true,
      protocol: "grpc",
      tls: false,
      unsure: true,
    });
  });

  it.each([{}, { tls: true }, { http: "1.1" as const }])(
    "a server whose answer our schema cannot decode: %o",
    async (options) => {
      await using server = await startRpcServer(methods, { ...options, garbled: true });
      const protocol = "http" in options ? "connect" : "grpc";
      expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol, tls: "tls" in options });
    },
  );

  it.each(["stub", "404"] as const)("a build without the cheapest RPC (%s), by another one", async (missing) => {
    await using server = await startRpcServer({ heartbeat: () => ({}) }, { missing });
    expect(await probePort(target(server.port), never)).toEqual({ ok: true, protocol: "grpc", tls: false });
  });
});

describe("probePort says why not", () => {
  it("wrong token, asking once", async () => {
    await using server = await startRpcServer(methods);
    expect(await probePort(target(server.port, "another"), never)).toMatchObject({
      ok: false,
      reason: "token_refused",
    });
    expect(server.requests).toHaveLength(1);
  });

  it("nothing listens", async () => {
    const server = await startRpcServer(methods);
    await server[Symbol.asyncDispose]();
    expect(await probePort(target(server.port), never)).toMatchObject({ ok: false, reason: "closed" });
  });

  it("an HTTP server without the service", async () => {
    const http = createHttpServer((_, response) => response.writeHead(404).end("404 page not found\n"));
    await withNetServer(
      http,
      async (port) => expect(await probePort(target(port), never)).toMatchObject({ ok: false, reason: "not_found" }),
      () => http.closeAllConnections(),
    );
  });

  it.each([
    [200, "text/html", "<!doctype html><title>Hello</title>"],
    [200, "application/json", "[]"],
    [400, "text/plain", "upgrade required\n"],
    [500, "application/json", '{"detail":"no"}'],
  ])("an HTTP server that answers every path with %i %s", async (status, type, body) => {
    const http = createHttpServer((_, response) => response.writeHead(status, { "content-type": type }).end(body));
    await withNetServer(
      http,
      async (port) => expect(await probePort(target(port), never)).toMatchObject({ ok: false, reason: "not_service" }),
      () => http.closeAllConnections(),
    );
  });

  it("a server that speaks another language", async () => {
    await withSockets(
      (socket) => socket.end("Content-Length: 4\r\n\r\nnull"),
      async (port) => expect(await probePort(target(port), never)).toMatchObject({ ok: false, reason: "not_http" }),
    );
  });

  it("a server that hangs up", async () => {
    await withSockets(
      (socket) => socket.destroy(),
      async (port) => expect(await probePort(target(port), never)).toMatchObject({ ok: false, reason: "not_http" }),
    );
  });

  it("a server that takes connections and stays silent", async () => {
    await withSockets(
      () => {},
      async (port) => {
        const result = await probePort({ ...target(port), attemptMs: 60 }, never);
        expect(result).toMatchObject({ ok: false, reason: "timeout" });
        expect(result).toHaveProperty("why", "takes connections, but does not answer");
      },
    );
  });

  it("and nothing of the token", async () => {
    await using server = await startRpcServer(methods);
    const result = await probePort(target(server.port, "planted-token"), never);
    expect(JSON.stringify(result)).not.toContain("planted-token");
  });
});

it("probePort ends when its signal aborts", async () => {
  const connected = Promise.withResolvers<void>();
  await withSockets(
    () => connected.resolve(),
    async (port) => {
      const controller = new AbortController();
      const probing = probePort({ ...target(port), attemptMs: 60_000 }, controller.signal);
      await connected.promise;
      controller.abort(new Error("enough"));
      await expect(probing).rejects.toThrow("enough");
    },
  );
});
