import { chmodSync, lstatSync } from "node:fs";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { connect, createServer as createNetServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import { loopbackNames, noSuchAddress } from "../../base/node/loopback.ts";
import { removeSync } from "../../base/node/move-file.ts";
import {
  type ConnectionLimits,
  defaultConnectionLimits,
  http1Options,
  limitFirstByte,
  limitIdleSessions,
  limitPipelining,
  watchRequests,
} from "./connection-limits.ts";
import { asksForSocket, canServeSockets } from "./responses-socket.ts";

export type Listener = Awaited<ReturnType<typeof listen>>;

export interface ListenOptions {
  /** A loopback address. */
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** The path of a Unix domain socket, in place of host and port. */
  readonly socket?: string | undefined;
  /** Whether a connection may ask; all may without it. */
  readonly admits?: ((socket: Socket) => Promise<boolean>) | undefined;
  readonly limits?: Partial<ConnectionLimits>;
}

const preface = Buffer.from("PRI * HTTP/2.0");
/** How long answers have to end by themselves when the gateway stops; ms. */
const goodbyeMs = 2_000;

/** Whether `listen` failed because another program has the port: take another one. */
export function isPortTaken(error: unknown): boolean {
  return isMillraceError(error) && error.param === "port" && error.code === "invalid_request";
}

/**
 * Listens on one port for both HTTP versions; a connection is handed to the one whose first bytes it sends.
 *
 * @throws MillraceError `invalid_request`: the port is taken (`isPortTaken`), or the host is not loopback.
 */
export async function listen(
  options: ListenOptions,
  handlers: {
    readonly http1: RequestListener;
    readonly http2?: (request: Http2ServerRequest, response: Http2ServerResponse) => void;
    /** Takes the connections whose clients ask for a WebSocket. */
    readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
    /** Ends the streams of another protocol, so that their clients hear why: the port is free by then. */
    goodbye?(): Promise<void>;
  },
) {
  if (!loopbackNames.includes(options.host))
    throw new MillraceError("invalid_request", `${options.host} is not a loopback address.`, {
      param: "host",
      hint: "Millrace listens on this machine only. docs/reference.md shows how to reach it from elsewhere: ssh, Tailscale, or a reverse proxy.",
    });
  const limits = { ...defaultConnectionLimits, ...options.limits };
  const openAnswers = new OpenAnswers();
  const http1 = createHttpServer(
    { noDelay: true, shouldUpgradeCallback: asksForSocket, ...http1Options(limits) },
    limitPipelining(openAnswers.watch(handlers.http1)),
  );
  watchRequests(http1);
  if (handlers.upgrade !== undefined && canServeSockets()) http1.on("upgrade", handlers.upgrade);
  const http2 = handlers.http2 === undefined ? undefined : createHttp2Server({}, handlers.http2);
  if (http2 !== undefined) limitIdleSessions(http2, limits);
  const sockets = new Set<Socket>();
  let ever = 0;
  const server = createNetServer({ noDelay: true }, (socket) => {
    ever++;
    const { began } = limitFirstByte(socket, limits);
    socket.on("error", () => socket.destroy()); // a reset between requests is an ordinary end
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    const serve = () =>
      sniff(socket, (isHttp2) => {
        began();
        (isHttp2 && http2 !== undefined ? http2 : http1).emit("connection", socket);
      });
    if (options.admits === undefined) serve();
    else
      void options.admits(socket).then(
        (isAdmitted) => (isAdmitted ? serve() : turnAway(socket)),
        () => socket.destroy(),
      );
  });
  if (options.socket !== undefined) await listenOnSocket(server, options.socket);
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
    openAnswers.stop(sockets);
  };
  const stopAccepting = () => (stopped ??= stop());
  return {
    url: options.socket === undefined ? `http://${host}:${port}` : `unix:${options.socket}`,
    port,
    /** How many requests of HTTP/1.1 are being answered. */
    openAnswers: () => openAnswers.count,
    /** The connections that are open, and all that ever were. */
    connections: () => ({ open: sockets.size, ever }),
    /** Frees the port: no more connections, and no more requests on those that are open. Requests that are being answered continue. */
    stopAccepting,
    /** Stops accepting, waits a moment for answers that end by themselves, ends the others; resolves when every socket is closed. */
    async close(): Promise<void> {
      await stopAccepting();
      await openAnswers.over(goodbyeMs);
      http1.close(() => {}); // it listens nowhere itself: this ends its look for slow requests
      for (const socket of sockets) socket.destroy();
      await bestEffort(closed ?? Promise.resolve());
    },
  };
}

/** The answer to each request of a connection that is not admitted. It has Ollama's form, because Ollama's clients show that. */
function turnAway(socket: Socket): void {
  const error =
    "Millrace answers only programs of its own user here, and cannot tell that this one is. A container or another user needs a key: `millrace keys create`.";
  const body = writeJson({ error });
  const head = ["HTTP/1.1 403 Forbidden", "content-type: application/json", `content-length: ${body.length}`];
  socket.resume();
  socket.end([...head, "connection: close", "", body].join("\r\n"));
}

/**
 * Waits until the first bytes show whether they are HTTP/2's preface, then puts them back. `P` alone is not enough, since POST
 * begins with it too. Source: docs/dev/wire/language-server.md, "Protocols on one port".
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
  const absent = noSuchAddress(error, options.host);
  if (absent !== undefined) return absent;
  return new MillraceError("invalid_request", `Cannot listen on ${options.host}.`, { param: "host", cause: error });
}

/** The answers of HTTP/1.1 that are under way. */
export class OpenAnswers {
  readonly #open = new Set<ServerResponse>();
  #stopping = false;
  #none = () => {};

  get count(): number {
    return this.#open.size;
  }

  /** The same listener; its answers are known here until their connection has them. */
  watch(handle: RequestListener): RequestListener {
    return (incoming, outgoing) => {
      const { socket } = incoming;
      this.#open.add(outgoing);
      outgoing.once("close", () => {
        this.#open.delete(outgoing);
        if (this.#stopping) socket.destroySoon();
        if (this.#open.size === 0) this.#none();
      });
      handle(incoming, outgoing);
    };
  }

  /** From now on a connection is closed with its answer; those without one at once. */
  stop(sockets: ReadonlySet<Socket>): void {
    this.#stopping = true;
    const busy = new Set([...this.#open].map(({ socket }) => socket));
    for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
    for (const answer of this.#open) answer.shouldKeepAlive = false;
  }

  /** Resolves when no answer is open, or after `ms`. */
  async over(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#none = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}

/**
 * Listens on a Unix domain socket that only its user may connect to (mode 0600, from its first moment on). A socket that an
 * earlier process left is replaced.
 *
 * @throws MillraceError `invalid_request` where another process listens there, or something else stands there.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (await isLeftBehind(path)) removeSync(path);
  const mask = process.umask(0o177); // the system binds the socket before `listen` returns
  try {
    const listening = new Promise<void>((resolve, reject) => {
      server.once("error", (cause: NodeJS.ErrnoException) => reject(socketError(path, cause)));
      server.listen(path, resolve);
    });
    process.umask(mask);
    await listening;
    chmodSync(path, 0o600);
  } finally {
    process.umask(mask);
  }
}

/** Whether the path has a socket without a listener. */
async function isLeftBehind(path: string): Promise<boolean> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return false;
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(false);
    });
    probe.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
  });
}

function socketError(path: string, cause: NodeJS.ErrnoException): MillraceError {
  const why =
    cause.code === "EADDRINUSE" ? "is in use, or something else stands there" : `cannot be made (${cause.code})`;
  const hint = "Choose another path, in a folder of your own.";
  return new MillraceError("invalid_request", `The socket ${path} ${why}.`, { param: "socket", hint, cause });
}
