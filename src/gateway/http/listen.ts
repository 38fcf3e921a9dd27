import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer as createNetServer, type Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { Answering } from "./answering.ts";
import {
  type ConnectionLimits,
  defaultConnectionLimits,
  http1Options,
  limitFirstByte,
  limitIdleSessions,
  limitPipelining,
  watchRequests,
} from "./connection-limits.ts";
import { type SocketAddress, spellSocketAddress } from "./socket-address.ts";
import { listenOnPipe, listenOnSocket } from "./unix-socket.ts";

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** How many requests of HTTP/1.1 are being answered. */
  answering(): number;
  /** Frees the port: no more connections, and no more requests on those that are open. Requests that are being answered continue. */
  stopAccepting(): Promise<void>;
  /** Stops accepting, waits a moment for answers that end by themselves, ends the others; resolves when every socket is closed. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** Allows a host beyond loopback without TLS: keys then travel in clear text over that network. */
  readonly allowCleartext?: boolean;
  /** Gives the certificate of each new connection. */
  readonly tls?: (() => SecureContext) | undefined;
  /** In place of host and port. */
  readonly socket?: SocketAddress | undefined;
  readonly limits?: Partial<ConnectionLimits>;
}

/** The handlers of the port: HTTP/1.1, and HTTP/2 with prior knowledge if a handler speaks it. */
export interface PortHandlers {
  readonly http1: RequestListener;
  readonly http2?: (request: Http2ServerRequest, response: Http2ServerResponse) => void;
  /** Ends the streams of another protocol, so that their clients hear why: the port is free by then. */
  goodbye?(): Promise<void>;
}

const preface = Buffer.from("PRI * HTTP/2.0");
/** How long answers have to end by themselves when the gateway stops; ms. */
const goodbyeMs = 2_000;
const loopback = new Set(["127.0.0.1", "localhost", "::1"]);

/** Whether `listen` failed because another program has the port: take another one. */
export function isPortTaken(error: unknown): boolean {
  return isMillraceError(error) && error.param === "port" && error.code === "invalid_request";
}

/**
 * Listens on one port for both HTTP versions; a connection is handed to the one whose first bytes it sends.
 *
 * @throws MillraceError `invalid_request`: the port is taken (`isPortTaken`), or the host is not loopback and the user did not allow that.
 */
export async function listen(options: ListenOptions, handlers: PortHandlers): Promise<Listening> {
  refuseCleartext(options);
  const limits = { ...defaultConnectionLimits, ...options.limits };
  const answering = new Answering();
  const http1 = createHttpServer(
    { noDelay: true, ...http1Options(limits) },
    limitPipelining(answering.watch(handlers.http1)),
  );
  watchRequests(http1);
  const http2 = handlers.http2 === undefined ? undefined : createHttp2Server({}, handlers.http2);
  if (http2 !== undefined) limitIdleSessions(http2, limits);
  const sockets = new Set<Socket>();
  const server = createNetServer({ noDelay: true }, (socket) => {
    const { began } = limitFirstByte(socket, limits);
    socket.on("error", () => socket.destroy()); // a reset between requests is an ordinary end
    const connection = secured(socket, options);
    sockets.add(connection);
    connection.once("close", () => sockets.delete(connection));
    sniff(connection, (isHttp2) => {
      began();
      // HTTP/2 serves the stream protocol alone, with prior knowledge: over TLS clients would take it for all routes
      const speaksHttp2 = isHttp2 && options.tls === undefined;
      (speaksHttp2 && http2 !== undefined ? http2 : http1).emit("connection", connection);
    });
  });
  if (options.socket?.kind === "pipe") await listenOnPipe(server, options.socket.path);
  else if (options.socket !== undefined) await listenOnSocket(server, options.socket.path);
  else
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, options)));
      server.listen(options.port, options.host, resolve);
    });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  let closed: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    closed = new Promise((resolve) => void server.close(() => resolve())); // the port is free at once, the rest later
    await bestEffort(handlers.goodbye?.() ?? Promise.resolve());
    answering.stop(sockets);
  };
  const stopAccepting = () => (stopped ??= stop());
  return {
    url:
      options.socket === undefined
        ? `${options.tls === undefined ? "http" : "https"}://${host}:${port}`
        : spellSocketAddress(options.socket),
    port,
    answering: () => answering.count,
    stopAccepting,
    async close() {
      await stopAccepting();
      await answering.over(goodbyeMs);
      http1.close(() => {}); // it listens nowhere itself: this ends its look for slow requests
      for (const socket of sockets) socket.destroy();
      await bestEffort(closed ?? Promise.resolve());
    },
  };
}

/** Keys and prompts leave this machine in clear text only if the user allowed it. */
function refuseCleartext({ host, allowCleartext, tls, socket }: ListenOptions): void {
  if (loopback.has(host) || allowCleartext === true || tls !== undefined || socket !== undefined) return;
  throw new MillraceError("invalid_request", `${host} is not a loopback address, and no TLS was asked for.`, {
    param: "host",
    hint: "Give --tls-cert and --tls-key. With --allow-cleartext, the key and all prompts cross that network in clear text.",
  });
}

function secured(socket: Socket, { tls }: ListenOptions): Socket {
  if (tls === undefined) return socket;
  const connection = new TLSSocket(socket, { isServer: true, secureContext: tls(), ALPNProtocols: ["http/1.1"] });
  connection.on("error", () => connection.destroy()); // a client that does not trust us, or speaks no TLS
  return connection;
}

/**
 * Waits until the first bytes show whether they are HTTP/2's preface, then puts them back. `P` alone is not enough, since POST
 * begins with it too. Source: docs/wire/language-server.md, "Protocols on one port".
 */
function sniff(socket: Socket, decide: (isHttp2: boolean) => void): void {
  let got = Buffer.alloc(0);
  const onReadable = () => {
    for (let bytes = socket.read() as Buffer | null; bytes !== null; bytes = socket.read() as Buffer | null) {
      got = Buffer.concat([got, bytes]); // no encoding is set, so reads are buffers
    }
    if (got.length === 0) return;
    const length = Math.min(got.length, preface.length);
    const matches = got.subarray(0, length).equals(preface.subarray(0, length));
    if (matches && got.length < preface.length) return;
    socket.off("readable", onReadable);
    socket.unshift(got);
    decide(matches);
  };
  socket.on("readable", onReadable);
}

function listenError(error: NodeJS.ErrnoException, options: ListenOptions): MillraceError {
  if (error.code === "EADDRINUSE" || error.code === "EACCES") {
    return new MillraceError("invalid_request", `Port ${options.port} on ${options.host} is taken or not allowed.`, {
      param: "port",
      hint: "Choose another one, or 0 for any that is free.",
      cause: error,
    });
  }
  return new MillraceError("invalid_request", `Cannot listen on ${options.host}.`, { param: "host", cause: error });
}
