import type { Server as HttpServer, RequestListener } from "node:http";
import type { Http2Server, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";

/** How long a connection may keep the gateway waiting for its client, in ms. None of them ends an answer that is still sent. */
export interface ConnectionLimits {
  /** From the connection to its first byte. */
  readonly firstByteMs: number;
  /** From the first byte of a request to the end of its headers. */
  readonly headersMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number;
  /** Between two requests of one connection. */
  readonly idleMs: number;
}

/** A client on this machine needs milliseconds; a body of 64 MB from a slow disk may need more. */
export const defaultConnectionLimits: ConnectionLimits = {
  firstByteMs: 15_000,
  headersMs: 15_000,
  requestMs: 120_000,
  idleMs: 30_000,
};

/** How often Node looks for requests that take too long: once in the shortest limit, so that a request has at most twice its limit. Each look wakes an idle gateway. */
function lookEveryMs({ headersMs, requestMs }: ConnectionLimits): number {
  return Math.max(50, Math.min(headersMs, requestMs));
}

/** The options of `node:http` that hold the limits. */
export function http1Options(limits: ConnectionLimits) {
  return {
    headersTimeout: Math.min(limits.headersMs, limits.requestMs), // Node refuses a headers limit above the other one
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: lookEveryMs(limits),
  };
}

/**
 * Makes Node look for slow requests. It begins that when a server listens; this one is handed its sockets by another one, so
 * without the event no limit would hold. `src/gateway/http/connection-limits.test.ts` fails when a Node version changes this.
 */
export function watchRequests(server: HttpServer): void {
  server.emit("listening");
}

/** Ends HTTP/2 connections without any open stream, as after a preface and nothing more. */
export function limitIdleSessions(server: Http2Server, { idleMs }: ConnectionLimits): void {
  server.on("session", (session: ServerHttp2Session) => {
    let open = 0;
    session.on("stream", (stream) => {
      open++;
      stream.once("close", () => open--);
    });
    session.setTimeout(idleMs, () => {
      if (open === 0) session.destroy(); // nothing is being answered; `close` would wait for a client that says nothing
    });
  });
}

/** Closes the socket unless `began` is called in time. */
export function limitFirstByte(socket: Socket, { firstByteMs }: ConnectionLimits): { readonly began: () => void } {
  const timer = setTimeout(() => socket.destroy(), firstByteMs);
  timer.unref();
  const began = () => clearTimeout(timer);
  socket.once("close", began);
  return { began };
}

/** Requests that one HTTP/1.1 connection may have open at the same time. No known client has more than one. */
const mostPipelined = 64;

/**
 * Ends a connection that asks and asks without reading: Node hands all its requests over at once, and each takes memory and
 * work before the first answer is read.
 */
export function limitPipelining(handle: RequestListener): RequestListener {
  const open = new WeakMap<Socket, number>();
  return (incoming, outgoing) => {
    const { socket } = incoming;
    if (socket.destroyed) return; // the rest of what came in one piece with the request too many
    const now = (open.get(socket) ?? 0) + 1;
    if (now > mostPipelined) {
      socket.destroy();
      return;
    }
    open.set(socket, now);
    outgoing.once("close", () => open.set(socket, (open.get(socket) ?? 1) - 1));
    handle(incoming, outgoing);
  };
}
