import { Buffer } from "node:buffer";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { listenOnLoopback } from "./loopback.ts";
import { type Request, type Response, writeResponse } from "./refuse.ts";

const preface = Buffer.from("PRI * HTTP/2.0");

/** A loopback listener, with the means to end it at once. */
export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

export type Handler = (request: Request, response: Response) => void;

/** In MB. Node refuses calls while more than 10 MB of answers wait on a connection, as the IDE's server does not. */
const maxSessionMemory = 1_000;

/**
 * One port for HTTP/2 with prior knowledge and HTTP/1.1: reads until the bytes differ from the HTTP/2 preface or match
 * it whole, because `P` is also the first byte of POST. Source: docs/dev/wire/language-server.md, "Protocols on one port".
 */
export async function listenForRpc(handler: Handler, port = 0, withHttp2 = true): Promise<Listener> {
  const http1 = http.createServer(handler);
  const h2 = http2.createServer({ settings: { initialWindowSize: 4 * 1024 * 1024 }, maxSessionMemory }, handler);
  h2.on("sessionError", () => {}); // a peer that breaks off mid-frame is no concern of the server's
  const server = net.createServer((socket) => sniff(socket, http1, withHttp2 ? h2 : undefined));
  return await listen(server, port);
}

/** A connection that begins with this byte speaks TLS. Source: RFC 8446, 5.1. */
const tlsHandshake = 0x16;
const plainToTls = "Client sent an HTTP request to an HTTPS server.\n";

/**
 * Two ports next to each other: TLS with HTTP/2 or HTTP/1.1 by ALPN on the first, the same without TLS on the second.
 * Plain HTTP on the first gets an error that says so, as Go does. Source: docs/dev/wire/language-server.md, "CSRF token refused", "Ports".
 */
export async function listenForTlsAndPlain(
  handler: Handler,
  certificate: { readonly key: string; readonly cert: string },
): Promise<{ readonly tls: Listener; readonly plain: Listener }> {
  const secure = http2.createSecureServer({ ...certificate, allowHTTP1: true, maxSessionMemory }, handler);
  secure.on("sessionError", () => {}); // as above
  secure.on("tlsClientError", () => {}); // a client that does not trust the certificate breaks off
  for (let attempt = 1; ; attempt++) {
    const tls = await listen(
      net.createServer((socket) => {
        socket.once("readable", () => {
          const first = socket.read(1) as Buffer | null;
          if (first === null) return;
          socket.unshift(first);
          if (first[0] === tlsHandshake) secure.emit("connection", socket);
          else socket.end(`HTTP/1.0 400 Bad Request\r\n\r\n${plainToTls}`);
        });
      }),
    );
    try {
      return { tls, plain: await listenForRpc(handler, tls.port + 1) };
    } catch (error) {
      await tls.close();
      if (attempt === 20) throw error; // the port after is taken, twenty times over
    }
  }
}

function sniff(socket: net.Socket, http1: http.Server, h2: http2.Http2Server | undefined): void {
  let got = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      got = Buffer.concat([got, chunk]);
    }
    if (got.length === 0) return;
    const size = Math.min(got.length, preface.length);
    const matches = got.subarray(0, size).equals(preface.subarray(0, size));
    if (matches && size < preface.length) return;
    socket.removeListener("readable", onReadable);
    socket.unshift(got);
    if (matches && h2 === undefined) socket.destroy();
    else (matches && h2 !== undefined ? h2 : http1).emit("connection", socket);
  };
  socket.on("readable", onReadable);
}

/** Ports of the process that speak something else: they send no greeting and answer any bytes with an LSP error. */
export async function listenForLsp(port = 0): Promise<Listener> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error" } });
  return await listen(
    net.createServer((socket) => {
      socket.once("data", () => {
        socket.end(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      });
    }),
    port,
  );
}

export const decoyKinds = ["html", "json", "not-found", "lsp", "silent", "closing", "impostor"] as const;
/** How a port of the process that is not the server's answers. */
export type DecoyKind = (typeof decoyKinds)[number];

const decoyAnswers: Readonly<Partial<Record<DecoyKind, readonly [number, string, string]>>> = {
  html: [200, "text/html; charset=utf-8", "<!doctype html><title>A page</title>"],
  json: [200, "application/json", '{"ok":true}'],
  "not-found": [404, "text/plain; charset=utf-8", "404 page not found\n"],
};

/** Answers the calls that a probe makes as the server would, and everything else with a page. */
const impostor: Handler = (request, response) => {
  if (!/\/(?:GetUnleashData|Heartbeat)$/.test(request.url ?? "")) {
    writeResponse(
      response,
      200,
      { "content-type": "text/html; charset=utf-8" },
      "<!doctype html><title>A page</title>",
    );
    return;
  }
  const type = request.headers["content-type"] ?? "application/proto";
  if (!type.startsWith("application/grpc")) {
    writeResponse(response, 200, { "content-type": type }, "");
    return;
  }
  response.setHeader("content-type", type);
  response.addTrailers({ "grpc-status": "0" });
  response.end(Buffer.alloc(5)); // a message without a field
};

/**
 * A port that is not the server's, with a lower number than `below`, so that it is asked first. HTTP kinds answer every path alike,
 * over HTTP/1.1 and HTTP/2.
 */
export async function listenAsDecoy(kind: DecoyKind, below: number): Promise<Listener> {
  const answer = decoyAnswers[kind];
  for (let port = below - 1; port > 1024; port--) {
    try {
      if (answer !== undefined) {
        const [status, type, body] = answer;
        return await listenForRpc(
          (_, response) => writeResponse(response, status, { "content-type": type }, body),
          port,
        );
      }
      if (kind === "impostor") return await listenForRpc(impostor, port);
      if (kind === "lsp") return await listenForLsp(port);
      const onSocket = (socket: net.Socket) => (kind === "closing" ? socket.destroy() : socket.pause());
      return await listen(net.createServer(onSocket), port);
    } catch (error) {
      const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      if (!isTaken) throw error;
    }
  }
  throw new Error(`no free port below ${below}`);
}

async function listen(server: net.Server, port = 0): Promise<Listener> {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // a peer that vanished; "close" follows
    socket.on("close", () => sockets.delete(socket));
  });
  const opened = await listenOnLoopback(server, port);
  return {
    port: opened,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
