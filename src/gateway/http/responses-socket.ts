import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { isMillraceError } from "../../base/errors.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { bounds } from "../dialects/bounds.ts";
import type { Bodies, BodyMemory } from "./body.ts";
import { type ConnectionLimits, defaultConnectionLimits } from "./connection-limits.ts";
import type { Caller } from "./guard.ts";
import { foldPath, headersOf } from "./request-headers.ts";
import { type App, Conversation, refusalEvent } from "./responses-conversation.ts";

/** Connections at one moment, of issued keys together and of one of them; the rest is the owner's. No known client comes near them. */
const most = { connections: 64, ofIssuedKeys: 32, ofOneKey: 16 };

/** Requests that wait on one connection. */
const mostWaiting = 32;

/** What a frame's head and a chunk with the start of the next message may add, in bytes. */
const headBytes = 128 * 1024;

/** How much of a message is looked at in one turn of the event loop, in bytes. */
const atOnce = 256 * 1024;

/** How long a client that was told why its connection ends has to end it, in ms. */
const goodbyeMs = 1_000;

/** Headers of the handshake that say nothing of a request: of the connection, or of one request alone. */
const ofHandshake =
  /^(?:connection|upgrade|sec-websocket-.*|content-.*|idempotency-key|x-idempotency-key|last-event-id)$/;

/** Whether this Node can leave other upgrades (`h2c`) alone; without that, no WebSocket is served and the client hears 426. */
export function canServeSockets(version = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 9);
}

/** Whether a request asks for the Responses API as a WebSocket; to others an upgrade is a wish that nobody has to grant. */
export function asksForSocket({ headers, url = "" }: IncomingMessage): boolean {
  const isSocket = headers.upgrade?.toLowerCase() === "websocket";
  return isSocket && foldPath(url.replace(/\?.*$/, "")) === "/v1/responses";
}

/**
 * Serves `POST /v1/responses` over WebSockets: a message `response.create` is a request, and the events of its stream are the messages
 * of the answer. A message is read as a body of HTTP is. A connection that asks nothing ends after `idleMs`, one that sends its message
 * too slowly after `requestMs`. Source: docs/dev/wire/clients.md, "Responses over WebSocket".
 */
export function openResponsesSocket({
  app,
  bodies,
  callerOf,
  limits: given,
}: {
  /** Answers each message, with the guard and the log; it also decides on the handshake, by 426. */
  readonly app: App;
  readonly bodies: Bodies;
  readonly callerOf: (headers: Headers) => Caller | undefined;
  readonly limits?: Partial<ConnectionLimits> | undefined;
}): {
  /** Takes a connection whose client asked for a WebSocket. */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Closes all connections with "service restart": turns run on, and a client that asks again joins them. */
  close(): void;
} {
  const server = new WebSocketServer({ noServer: true, maxPayload: bodies.mostBytes, perMessageDeflate: false });
  const limits = { ...defaultConnectionLimits, ...given };
  const callers = new Map<WebSocket, Caller | undefined>();
  const handshake = async (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const headers = headersOf(incoming);
    const answer = await app(new Request(`http://gateway${incoming.url}`, { headers }));
    const caller = callerOf(headers);
    if (answer.status !== 426) await refuse(socket, answer);
    else if (!hasPlace(caller, [...callers.values()])) await refuse(socket, new Response(null, { status: 503 }));
    else {
      for (const name of Array.from(headers.keys())) if (ofHandshake.test(name)) headers.delete(name);
      server.handleUpgrade(incoming, socket, head, (client) => {
        callers.set(client, caller);
        client.once("close", () => callers.delete(client));
        const isOwners = caller?.owner === true;
        const conversation = new Conversation(app, headers, bodies.memory(isOwners), bodies.mostBytes);
        new Connection(client, socket, conversation, { bodies, limits, isOwners }).open();
      });
    }
  };
  return {
    upgrade(incoming, socket, head) {
      socket.on("error", () => socket.destroy());
      handshake(incoming, socket, head).catch(() => socket.destroy());
    },
    close() {
      for (const client of server.clients)
        client.close(1012, "The gateway stops. Connect again, and send the request again.");
    },
  };
}

function hasPlace(caller: Caller | undefined, open: readonly (Caller | undefined)[]): boolean {
  if (open.length >= most.connections) return false;
  if (caller?.owner === true) return true;
  const issued = open.filter((each) => each?.owner !== true);
  const own = issued.filter((each) => each?.digest === caller?.digest);
  return issued.length < most.ofIssuedKeys && own.length < most.ofOneKey;
}

async function refuse(socket: Duplex, answer: Response): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer());
  const headers = new Map([...answer.headers, ["connection", "close"], ["content-length", String(body.byteLength)]]);
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${answer.status} Refused`, ...lines, "", ""];
  socket.end(Buffer.concat([Buffer.from(head.join("\r\n"), "latin1"), body]));
}

/** One connection: its requests are answered one after the other. */
class Connection {
  readonly #client: WebSocket;
  readonly #socket: Duplex;
  readonly #conversation: Conversation;
  readonly #bodies: Bodies;
  readonly #isOwners: boolean;
  readonly #limits: ConnectionLimits;
  /** For messages that arrive or wait. */
  readonly #memory: BodyMemory;
  readonly #gone = new AbortController();
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Bytes of a message that has not ended. */
  #arriving = 0;
  #isAnswering = false;
  /** Runs while nothing is asked; signs of life alone do not keep a connection. */
  #idle: NodeJS.Timeout | undefined;
  /** Runs while a message arrives. */
  #slow: NodeJS.Timeout | undefined;

  constructor(
    client: WebSocket,
    socket: Duplex,
    conversation: Conversation,
    {
      bodies,
      limits,
      isOwners,
    }: { readonly bodies: Bodies; readonly limits: ConnectionLimits; readonly isOwners: boolean },
  ) {
    this.#client = client;
    this.#socket = socket;
    this.#conversation = conversation;
    this.#bodies = bodies;
    this.#isOwners = isOwners;
    this.#limits = limits;
    this.#memory = bodies.memory(isOwners);
  }

  open(): void {
    const client = this.#client;
    client.on("error", () => client.terminate());
    client.once("close", () => {
      this.#gone.abort();
      clearTimeout(this.#idle);
      clearTimeout(this.#slow);
      this.#waiting.length = 0;
      this.#memory.hold(0);
      this.#conversation.forget();
    });
    this.#socket.prependListener("data", (bytes: Buffer) => this.#arrive(bytes.length));
    client.on("ping", (data: Buffer) => this.#leave(data.length));
    client.on("pong", (data: Buffer) => this.#leave(data.length));
    client.on("message", (data: Buffer) => this.#take(data));
    this.#beIdle();
  }

  #arrive(bytes: number): void {
    const isFirst = this.#arriving === 0;
    this.#arriving += bytes;
    if (this.#arriving > bounds.message.socket + headBytes)
      return this.#end(1009, "A message may have 16 MB. Send a longer request over HTTP.");
    if (isFirst) this.#slow = setTimeout(() => this.#end(1001, "The message came too slowly."), this.#limits.requestMs);
    this.#count();
  }

  /** A frame of the protocol, of so many bytes beside its head, is no part of a message. */
  #leave(bytes: number): void {
    this.#arriving = Math.max(0, this.#arriving - bytes - 6);
    if (this.#arriving === 0) clearTimeout(this.#slow);
  }

  #take(message: Buffer): void {
    this.#arriving = 0;
    clearTimeout(this.#slow);
    if (this.#gone.signal.aborted) return;
    if (this.#waiting.length >= mostWaiting) return this.#end(1013, "Too many requests wait on this connection.");
    this.#waiting.push(message);
    this.#waitingBytes += message.length;
    this.#count();
    if (!this.#isAnswering) void this.#answerAll();
  }

  /** Ends the connection where its messages take more memory than there is. */
  #count(): void {
    try {
      this.#memory.hold(this.#arriving + this.#waitingBytes);
    } catch {
      this.#end(1013, "Large requests take all memory. Connect again, and send the request again.");
    }
  }

  async #answerAll(): Promise<void> {
    this.#isAnswering = true;
    clearTimeout(this.#idle);
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#waitingBytes -= next.length;
      this.#count();
      await this.#answer(next);
    }
    this.#isAnswering = false;
    this.#beIdle();
  }

  async #answer(message: Buffer): Promise<void> {
    const { signal } = this.#gone;
    try {
      await this.#bodies.read(
        piecesOf(message),
        async (json, cost) => {
          for await (const answer of this.#conversation.answer(json, cost, signal)) await this.#send(answer);
        },
        { isOwners: this.#isOwners },
      );
    } catch (error) {
      // else the client is gone, or the answer broke without an event of its own
      if (isMillraceError(error)) await this.#send(refusalEvent(error)).catch(() => this.#client.terminate());
      else this.#client.terminate();
    }
  }

  /** Resolves once the socket has taken the text: the answer is read only as fast as its client reads. */
  #send(text: string): Promise<void> {
    return new Promise((resolve, reject) => this.#client.send(text, (error) => (error ? reject(error) : resolve())));
  }

  #beIdle(): void {
    if (this.#gone.signal.aborted) return;
    this.#idle = setTimeout(() => {
      if (this.#arriving === 0) this.#end(1001, "Nothing was asked for a while.");
    }, this.#limits.idleMs);
    this.#idle.unref();
  }

  /** Says why, and reads no more. */
  #end(code: number, why: string): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort();
    this.#waiting.length = 0;
    this.#client.close(code, why);
    this.#client.pause();
    setTimeout(() => this.#client.terminate(), goodbyeMs).unref();
  }
}

async function* piecesOf(message: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < message.length; at += atOnce) {
    if (at > 0) await ownTurn();
    yield message.subarray(at, at + atOnce);
  }
}
