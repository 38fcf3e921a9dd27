import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { type Clock, systemClock } from "../../base/clock.ts";
import { connectUnary, RequestOrder } from "./connect-unary.ts";
import { baseUrl, type Endpoint } from "./endpoint.ts";
import { grpcUnary } from "./grpc-unary.ts";
import { http1Agent } from "./http1-agent.ts";
import { Http2Connection } from "./http2-session.ts";
import { leanTransport } from "./lean-transport.ts";
import type { CheckHolder } from "./open-socket.ts";
import type { UnaryWire } from "./unary-wire.ts";

const mebibyte = 1024 * 1024;

export interface TransportOptions {
  /** The largest answer taken, in bytes after decompression; checked before memory is taken. */
  readonly readMaxBytes?: number;
  readonly interceptors?: readonly Interceptor[];
  /** Asked once for each new connection, before anything is sent over it. */
  readonly checkHolder?: CheckHolder;
  /** Called with each request just before its bytes are written, in the order in which they are. */
  readonly stamp?: (request: Message) => void;
  readonly clock?: Clock;
}

/** One server's connection. `close` ends it and all its calls. */
export interface OpenTransport {
  readonly transport: Transport;
  close(): void;
}

/**
 * Opens the way to a language server: gRPC over one HTTP/2 connection, or Connect over kept-alive HTTP/1.1 ones; with TLS
 * a self-signed certificate is taken from loopback hosts only. Nothing is sent until the first call. The only place that
 * knows there are several protocols. Unary calls are ours, because Connect's cost several times as much; streams are Connect's,
 * over the same connections.
 *
 * Source: docs/dev/wire/language-server.md, "Connections".
 */
export function openTransport(endpoint: Endpoint, options: TransportOptions = {}): OpenTransport {
  const { checkHolder, stamp, interceptors = [], readMaxBytes = 64 * mebibyte, clock = systemClock } = options;
  const url = baseUrl(endpoint);
  const { wire, headers, streamsOf, order, close } = carrierOf(endpoint, { readMaxBytes, clock, checkHolder });
  const streams = streamsOf({
    baseUrl: url,
    interceptors: [withHeaders(headers), ...interceptors],
    acceptCompression: [compressionGzip],
    readMaxBytes,
  });
  const lean = { baseUrl: url, interceptors, stamp, streams: stamping(streams, stamp, order) };
  return { transport: leanTransport(wire, lean), close };
}

/**
 * The same connections for unary calls as bytes, without a schema: for a caller that judges the form of an answer and not its content.
 * Nothing is sent until the first call.
 */
export function openWire(
  endpoint: Endpoint,
  readMaxBytes: number,
): { readonly wire: UnaryWire; readonly close: () => void } {
  return carrierOf(endpoint, { readMaxBytes, clock: systemClock, checkHolder: undefined });
}

/** A server's connections in its protocol: unary calls are ours, streams are Connect's. `order`: of the requests with an id, where it needs one. */
function carrierOf(
  endpoint: Endpoint,
  options: { readonly readMaxBytes: number; readonly clock: Clock; readonly checkHolder: CheckHolder | undefined },
) {
  const { readMaxBytes, clock, checkHolder } = options;
  const token = endpoint.csrfToken.reveal(); // goes on the wire here
  const headers: Readonly<Record<string, string>> = token === "" ? {} : { "x-codeium-csrf-token": token };
  if (endpoint.protocol === "grpc") {
    const connection = new Http2Connection(endpoint, clock, checkHolder);
    const streamsOf = (common: StreamOptions) => createGrpcTransport({ ...common, sessionManager: connection });
    const wire = grpcUnary(connection, { headers, readMaxBytes });
    return { wire, headers, streamsOf, order: undefined, close: () => connection.close() };
  }
  const agent = http1Agent(endpoint, checkHolder);
  const order = new RequestOrder();
  const format = endpoint.protocol === "connect" ? "binary" : "json";
  const http1 = { httpVersion: "1.1", nodeOptions: { agent }, useBinaryFormat: format === "binary" } as const;
  const streamsOf = (common: StreamOptions) => createConnectTransport({ ...common, ...http1 });
  const wire = connectUnary(endpoint, agent, { format, headers, readMaxBytes, order });
  return { wire, headers, streamsOf, order, close: () => agent.destroy() };
}

type StreamOptions = Pick<
  Parameters<typeof createGrpcTransport>[0],
  "baseUrl" | "interceptors" | "acceptCompression" | "readMaxBytes"
>;

/** A stream's requests are stamped when they are about to be written, too; with an `order` in their turn. */
function stamping(
  streams: Transport,
  stamp: TransportOptions["stamp"],
  order: RequestOrder | undefined,
): Pick<Transport, "stream"> {
  if (stamp === undefined) return streams;
  return {
    // oxlint-disable-next-line max-params -- the library's interface
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      let leave = () => {};
      const turn = async () => {
        if (order === undefined) return;
        await new Promise<void>((resolve) => {
          leave = order.enter(resolve);
        });
      };
      const requests = stamped(method.input, input, stamp, turn);
      try {
        return await streams.stream(method, signal, timeoutMs, header, requests, contextValues);
      } finally {
        leave(); // the server began to answer, or never will
      }
    },
  };
}

async function* stamped<I extends DescMessage>(
  type: I,
  input: AsyncIterable<MessageInitShape<I>>,
  stamp: (request: Message) => void,
  turn: () => Promise<void>,
): AsyncGenerator<MessageInitShape<I>, void> {
  for await (const init of input) {
    const message = create(type, init);
    await turn();
    stamp(message);
    yield message;
  }
}

function withHeaders(headers: Readonly<Record<string, string>>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
}
