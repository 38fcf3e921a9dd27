import { type ClientRequest, type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { type Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJsonBytes, protocolVersion, validateResponse } from "@connectrpc/connect/protocol-connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { type Endpoint, hostName } from "./endpoint.ts";
import {
  answerTooLarge,
  joined,
  standardHeaders,
  type UnaryExchange,
  type UnaryWire,
  writeBody,
} from "./unary-wire.ts";

/**
 * Unary Connect over HTTP/1.1, with binary or JSON bodies; one connection of the agent for each call in flight. The library decides
 * the meaning of a status or an error's body.
 *
 * Source: the Connect protocol (connectrpc.com/docs/protocol), "Unary request" and "Unary response".
 */
export function connectUnary(
  endpoint: Pick<Endpoint, "host" | "port" | "tls">,
  agent: HttpAgent | HttpsAgent,
  options: {
    readonly format: UnaryWire["format"];
    readonly headers: Readonly<Record<string, string>>;
    readonly readMaxBytes: number;
    readonly order: RequestOrder;
  },
): UnaryWire {
  const { format, readMaxBytes, order } = options;
  const open = endpoint.tls ? httpsRequest : httpRequest;
  const host = hostName(endpoint.host);
  const common = {
    ...options.headers,
    "content-type": format === "binary" ? "application/proto" : "application/json",
    "connect-protocol-version": protocolVersion,
    "accept-encoding": "identity",
  };

  return {
    format,
    exchange(exchange) {
      const headers: Record<string, string> = { ...common, ...exchange.headers };
      if (exchange.timeoutMs !== undefined) headers["connect-timeout-ms"] = String(exchange.timeoutMs);
      const request = open({ host, port: endpoint.port, method: "POST", path: exchange.path, headers, agent });
      request.on("error", exchange.onError);
      request.on("response", (response) => receive(response, exchange, format === "binary", readMaxBytes));
      const write = () => {
        try {
          const body = exchange.body();
          request.setHeader("content-length", body.length);
          writeBody(request, body.first, body.rest);
        } catch (error) {
          request.destroy();
          exchange.onError(error);
        }
      };
      // The connection is there by now, so the request's bytes are made when they are written.
      request.once("socket", exchange.ordered ? () => inOrder(request, order, write) : write);
      return () => request.destroy();
    },
  };
}

function inOrder(request: ClientRequest, order: RequestOrder, write: () => void): void {
  const leave = order.enter(write);
  request.once("response", leave);
  request.once("close", leave);
}

function receive(response: IncomingMessage, exchange: UnaryExchange, binary: boolean, readMaxBytes: number): void {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const refuse = (size: number) => {
    const { message, code } = answerTooLarge(size, readMaxBytes);
    exchange.onError(new ConnectError(message, code));
    response.destroy();
  };
  response.on("error", exchange.onError);
  const length = Number(response.headers["content-length"] ?? 0);
  if (length > readMaxBytes) {
    refuse(length);
    return;
  }
  response.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > readMaxBytes) refuse(bytes);
    else chunks.push(chunk);
  });
  response.on("end", () => {
    if (bytes > readMaxBytes) return;
    const encoding = response.headers["content-encoding"];
    const isPlain = encoding === undefined || encoding === "identity";
    const body = joined(chunks, 0, isPlain && binary ? exchange.answer : undefined);
    if (isPlain) finish(response, body, exchange, binary);
    else if (encoding === compressionGzip.name) {
      compressionGzip
        .decompress(body as Uint8Array<ArrayBuffer>, readMaxBytes) // bytes of a socket are never shared memory
        .then((inflated) => finish(response, inflated, exchange, binary), exchange.onError);
    } else exchange.onError(new ConnectError(`unsupported response encoding "${encoding}"`, Code.Internal));
  });
}

function finish(response: IncomingMessage, body: Uint8Array, exchange: UnaryExchange, binary: boolean): void {
  const { statusCode = 0, headers } = response;
  const expected = binary ? "application/proto" : "application/json";
  if (statusCode === 200 && headers["content-type"] === expected) {
    exchange.onAnswer(body, headers);
    return;
  }
  const standard = standardHeaders(headers);
  try {
    const { isUnaryError, unaryError } = validateResponse("unary", binary, statusCode, standard);
    if (isUnaryError) exchange.onError(errorFromJsonBytes(body, standard, unaryError));
    else exchange.onAnswer(body, headers); // a content type with parameters
  } catch (error) {
    exchange.onError(error);
  }
}

/** How long a request may hold up the next one when the server is slow to answer it. */
const holdMs = 10;

interface Entry {
  readonly write: () => void;
  readonly leave: () => void;
  timer?: NodeJS.Timeout;
}

/**
 * Sends requests so that the server reads them in order, although each uses another connection. A request is written
 * once the server began to answer the one before it, or 10 ms after that one was written.
 *
 * Source: docs/dev/wire/language-server.md, "Order of the requests".
 */
export class RequestOrder {
  readonly #waiting = new Set<Entry>();
  #current: Entry | undefined;

  /** Calls `write` when it is this request's turn. The result ends the turn, or takes a request that still waits out. */
  enter(write: () => void): () => void {
    const leave = () => {
      if (this.#waiting.delete(entry) || this.#current !== entry) return;
      clearTimeout(entry.timer);
      this.#current = undefined;
      this.#next();
    };
    const entry: Entry = { write, leave };
    this.#waiting.add(entry);
    if (this.#current === undefined) this.#next();
    return leave;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    this.#current = first;
    // An answer that arrived while the process was busy is read before the next request is written.
    first.timer = setTimeout(() => setImmediate(first.leave), holdMs);
    first.write();
  }
}
