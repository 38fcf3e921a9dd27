import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Clock } from "../../base/clock.ts";
import { afterRead } from "../../base/node/after-read.ts";
import { baseUrl, closedHere, type Endpoint } from "./endpoint.ts";
import { type CheckHolder, openSocket } from "./open-socket.ts";

const mebibyte = 1024 * 1024;
const silentMs = 20_000;
const pingLimitMs = 5_000;

/**
 * One HTTP/2 connection to a server, opened at its first use and opened again after it broke. After 20 s of silence a ping tests the
 * connection before it is used, and while answers are awaited on it. If no reply comes within 5 s, the connection is given up. It
 * never keeps the process alive while no request runs.
 */
export class Http2Connection {
  readonly authority: string;
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #checkHolder: CheckHolder | undefined;
  #session: ClientHttp2Session | undefined;
  #opening: Promise<ClientHttp2Session> | undefined;
  #watch: NodeJS.Timeout | undefined;
  #running = 0;
  /** Epoch ms of the last sign of life: the wall clock continues while the machine sleeps. */
  #aliveAtMs = 0;
  #closed = false;

  constructor(endpoint: Endpoint, clock: Clock, checkHolder: CheckHolder | undefined) {
    this.authority = baseUrl(endpoint);
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#checkHolder = checkHolder;
  }

  /** The session if it can be used at once. */
  get ready(): ClientHttp2Session | undefined {
    const session = this.#session;
    if (session === undefined || session.closed || session.destroyed || this.#isSilent()) return undefined;
    return session;
  }

  /** A usable session; it is checked or made again if necessary. */
  open(): Promise<ClientHttp2Session> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Counts a request from its start to its close; the session lives as long as one runs. */
  track(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
    if (this.#running++ === 0) session.ref();
    stream.once("close", () => {
      this.#running--;
      if (this.#running === 0 && !session.destroyed) session.unref();
    });
  }

  /** The server answered something. */
  noteAlive(): void {
    this.#aliveAtMs = this.#clock.now();
  }

  /** Starts a request; part of what Connect asks of a session manager. */
  async request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    options: Omit<ClientSessionRequestOptions, "signal">,
  ): Promise<ClientHttp2Stream> {
    const session = this.ready ?? (await this.open());
    const stream = session.request({ ...headers, ":method": method, ":path": path }, options);
    this.track(session, stream);
    return stream;
  }

  notifyResponseByteRead(_stream: ClientHttp2Stream): void {
    this.noteAlive();
  }

  /** Ends the connection and all that runs on it. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#watch);
    const session = this.#session;
    if (session !== undefined) afterRead(() => session.destroy());
    this.#session = undefined;
  }

  #isSilent(): boolean {
    return this.#clock.now() - this.#aliveAtMs > silentMs;
  }

  async #open(): Promise<ClientHttp2Session> {
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed) {
      if (!this.#isSilent() || (await this.#answersPing(session))) return session;
    }
    if (this.#closed) throw closedHere();
    const socket = await openSocket(this.#endpoint, { alpn: "h2", checkHolder: this.#checkHolder });
    if (this.#closed) {
      socket.destroy();
      throw closedHere();
    }
    const made = connect(this.authority, {
      createConnection: () => socket,
      // The default window of 64 KiB triples the time of a large answer; many turns share the session's memory.
      settings: { initialWindowSize: 4 * mebibyte },
      maxSessionMemory: 256,
    });
    made.on("error", () => {}); // the requests that ran on it fail with it already
    await new Promise<void>((resolve, reject) => {
      made.once("connect", () => resolve());
      made.once("error", reject);
      made.once("close", () => reject(new Error("http/2 session was closed before it was used")));
    });
    made.setLocalWindowSize(16 * mebibyte); // 64 KiB for the whole connection otherwise, however wide its streams are
    made.unref();
    this.noteAlive();
    this.#session = made;
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      if (this.#running > 0 && this.#isSilent()) void this.#answersPing(made);
    }, silentMs);
    this.#watch.unref();
    const watch = this.#watch;
    made.once("close", () => clearInterval(watch));
    return made;
  }

  /** Whether the server still answers; the session is destroyed if not. */
  #answersPing(session: ClientHttp2Session): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (answers: boolean) => {
        clearTimeout(limit);
        session.removeListener("close", onClose);
        if (answers) this.noteAlive();
        else session.destroy(new Error("http/2 session was silent and did not answer a ping"));
        resolve(answers);
      };
      const onClose = () => end(false);
      // A pong that arrived while the process was busy is read before the connection is given up.
      const limit = setTimeout(() => setImmediate(() => end(false)), pingLimitMs);
      limit.unref();
      session.once("close", onClose);
      try {
        session.ping((error) => end(error === null));
      } catch {
        end(false); // it was destroyed just now
      }
    });
  }
}
