import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createParser } from "eventsource-parser";
import { type WebSocket, WebSocketServer } from "ws";
import { sortableId } from "../../base/ids.ts";
import { isObject, type JsonObject, parseJson, writeJson } from "../../base/json.ts";
import { responsePrefix } from "../dialects/openai-responses/response-object.ts";
import { foldPath, headersOf } from "./request-headers.ts";

type App = (request: Request) => Promise<Response>;

/** Connections at one moment, and requests that wait on one connection. No known client comes near either. */
const most = { connections: 64, waiting: 32 };

/** Headers of the handshake that say nothing of a request: of the connection, or of one request alone. */
const ofHandshake =
  /^(?:connection|upgrade|sec-websocket-.*|content-.*|idempotency-key|x-idempotency-key|last-event-id)$/;

/** The Responses API over WebSockets. */
export interface ResponsesSocket {
  /** Takes a connection whose client asked for a WebSocket. */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Closes all connections with "service restart": turns run on, and a client that asks again joins them. */
  close(): void;
}

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
 * of the answer. `app` answers each one as it answers HTTP, with the guard and the log; it also decides on the handshake, by 426.
 * `mostBytes`: of one message. Source: docs/wire/clients.md, "Responses over WebSocket".
 */
export function openResponsesSocket(app: App, mostBytes: number): ResponsesSocket {
  const server = new WebSocketServer({ noServer: true, maxPayload: mostBytes, perMessageDeflate: false });
  const handshake = async (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const headers = headersOf(incoming);
    const answer = await app(new Request(`http://gateway${incoming.url}`, { headers }));
    if (answer.status !== 426) await refuse(socket, answer);
    else if (server.clients.size >= most.connections) await refuse(socket, new Response(null, { status: 503 }));
    else {
      for (const name of Array.from(headers.keys())) if (ofHandshake.test(name)) headers.delete(name);
      server.handleUpgrade(incoming, socket, head, (client) => serve(client, new Conversation(app, headers)));
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

async function refuse(socket: Duplex, answer: Response): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer());
  const headers = new Map([...answer.headers, ["connection", "close"], ["content-length", String(body.byteLength)]]);
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${answer.status} Refused`, ...lines, "", ""];
  socket.end(Buffer.concat([Buffer.from(head.join("\r\n"), "latin1"), body]));
}

/** Answers one connection's requests, one after the other. */
function serve(client: WebSocket, conversation: Conversation): void {
  const gone = new AbortController();
  let waiting = 0;
  let last = Promise.resolve();
  client.on("error", () => client.terminate());
  client.once("close", () => gone.abort());
  const answer = async (before: Promise<void>, text: string) => {
    await before;
    try {
      for await (const message of conversation.answer(text, gone.signal)) await send(client, message);
    } catch {
      client.terminate(); // the client is gone, or the answer broke without an event of its own
    }
    waiting--;
  };
  client.on("message", (data: Buffer) => {
    if (++waiting > most.waiting) client.close(1013, "Too many requests wait on this connection.");
    else last = answer(last, data.toString());
  });
}

/** Resolves once the socket has taken the text: the answer is read only as fast as its client reads. */
function send(client: WebSocket, text: string): Promise<void> {
  return new Promise((resolve, reject) => client.send(text, (error) => (error ? reject(error) : resolve())));
}

/** What a connection keeps: the last response with all that led to it, which a client may continue also if it was not stored. */
class Conversation {
  readonly #app: App;
  readonly #headers: Headers;
  #last: { readonly id: unknown; readonly items: readonly unknown[] } | undefined;

  constructor(app: App, headers: Headers) {
    this.#app = app;
    this.#headers = headers;
    this.#headers.set("content-type", "application/json");
  }

  /** The messages that answer a message. An error is a message too. */
  async *answer(text: string, signal: AbortSignal): AsyncGenerator<string, void> {
    const asked = parse(text);
    if (asked?.type !== "response.create") {
      yield errorEvent(400, {
        code: "invalid_request",
        param: "type",
        message: "Send a JSON object of type `response.create`.",
      });
      return;
    }
    const { type: _, stream_id: lane, generate, ...body } = asked;
    const tag = lane === undefined ? {} : { stream_id: lane };
    const { previous_response_id: previous, ...rest } = body;
    const continued = this.#last !== undefined && previous === this.#last.id;
    const items = [...(continued ? (this.#last?.items ?? []) : []), ...itemsOf(body.input)];
    if (generate === false) {
      const response = emptyResponse(body);
      this.#last = { id: response.id, items };
      yield writeJson({ type: "response.created", sequence_number: 0, response, ...tag });
      yield writeJson({ type: "response.completed", sequence_number: 1, response, ...tag });
      return;
    }
    let isOver = false;
    for await (const { event, data } of this.#ask(continued ? { ...rest, input: items } : body, signal)) {
      if (data === "[DONE]" || event === "error") continue; // `response.failed` follows, and here each of the two would end the answer
      const ended = event === "response.completed" || event === "response.incomplete";
      const message = ended || lane !== undefined ? parse(data) : undefined;
      const response = ended && isObject(message?.response) ? message.response : undefined;
      isOver ||= response !== undefined;
      if (response !== undefined) this.#last = { id: response.id, items: [...items, ...itemsOf(response.output)] };
      yield lane === undefined ? data : writeJson({ ...message, ...tag });
    }
    if (continued && !isOver) this.#last = undefined; // as the specification has it: its client sends the whole input again
  }

  /** The events of a response, or one error. */
  async *#ask(
    body: JsonObject,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly event?: string | undefined; readonly data: string }, void> {
    const request = { method: "POST", headers: this.#headers, body: writeJson({ ...body, stream: true }), signal };
    const response = await this.#app(new Request("http://gateway/v1/responses", request));
    if (response.body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
      yield { data: errorEvent(response.status, parse(await response.text())?.error) };
      return;
    }
    const events: { event?: string | undefined; data: string }[] = [];
    const parser = createParser({ onEvent: (event) => void events.push(event) });
    const decoder = new TextDecoder();
    for await (const bytes of response.body) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      yield* events.splice(0);
    }
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    const json: unknown = parseJson(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function itemsOf(input: unknown): readonly unknown[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}

/** An error as the API's WebSockets have it. A client that reads this code sends its whole input. */
function errorEvent(status: number, error: unknown): string {
  const given = isObject(error) ? error : { message: "The request failed.", param: null, code: null };
  const lost = status === 404 && given.param === "previous_response_id";
  return writeJson({
    type: "error",
    status,
    error: { ...given, ...(lost ? { code: "previous_response_not_found" } : {}) },
  });
}

/** The answer to a request that only prepares the next one: no model is asked. */
function emptyResponse({ model }: JsonObject): JsonObject {
  const created = Date.now();
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  return {
    id: responsePrefix + sortableId(created),
    object: "response",
    created_at: Math.floor(created / 1000),
    status: "completed",
    model,
    output: [],
    error: null,
    incomplete_details: null,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, ...details },
  };
}
