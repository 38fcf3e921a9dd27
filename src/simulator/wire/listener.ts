import { Buffer } from "node:buffer";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import type { Request, Response } from "./refuse.ts";

const preface = Buffer.from("PRI * HTTP/2.0");

/** A loopback listener and what it takes to end it at once. */
export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

export type Handler = (request: Request, response: Response) => void;

/**
 * One port for HTTP/2 with prior knowledge and HTTP/1.1: reads until the bytes differ from the HTTP/2 preface or match
 * it whole, because `P` is also the first byte of POST. Source: facts/toolbox.md, part 3.
 *
 * @param onConnection called with +1 and -1 as connections come and go.
 */
export async function listenForRpc(handler: Handler, onConnection: (change: 1 | -1) => void): Promise<Listener> {
  const http1 = http.createServer(handler);
  const h2 = http2.createServer({ settings: { initialWindowSize: 4 * 1024 * 1024 } }, handler);
  h2.on("sessionError", () => {}); // a peer that breaks off mid-frame is no concern of the server's
  const server = net.createServer((socket) => sniff(socket, http1, h2));
  return await listen(server, onConnection);
}

function sniff(socket: net.Socket, http1: http.Server, h2: http2.Http2Server): void {
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
    (matches ? h2 : http1).emit("connection", socket);
  };
  socket.on("readable", onReadable);
}

/** Ports of the process that speak something else: they greet nobody and answer any bytes with an LSP error. */
export async function listenForLsp(): Promise<Listener> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error" } });
  return await listen(
    net.createServer((socket) => {
      socket.once("data", () => {
        socket.end(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      });
    }),
    () => {},
  );
}

async function listen(server: net.Server, onConnection: (change: 1 | -1) => void): Promise<Listener> {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    onConnection(1);
    socket.on("error", () => {}); // a peer that vanished; "close" follows
    socket.on("close", () => {
      sockets.delete(socket);
      onConnection(-1);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
