import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { findTrailerError, validateResponse, validateTrailer } from "@connectrpc/connect/protocol-grpc";
import { compressionGzip } from "@connectrpc/connect-node";
import type { Http2Connection } from "./http2-session.ts";
import {
  answerTooLarge,
  joined,
  type RequestBody,
  standardHeaders,
  type UnaryExchange,
  type UnaryWire,
  type WireHeaders,
  writeBody,
} from "./unary-wire.ts";

/** Codings that an answer may have. None is asked for: loopback is faster than compression. */
const compressed = 1;
const prefixBytes = 5;

/**
 * Unary gRPC over one HTTP/2 connection. Bytes are framed and counted here; the library decides the meaning of a status or a trailer.
 *
 * Source: the gRPC protocol over HTTP/2 (grpc/doc/PROTOCOL-HTTP2.md).
 */
export function grpcUnary(
  connection: Http2Connection,
  options: { readonly headers: Readonly<Record<string, string>>; readonly readMaxBytes: number },
): UnaryWire {
  const { readMaxBytes } = options;
  const common = {
    ...options.headers,
    ":method": "POST",
    "content-type": "application/grpc+proto",
    te: "trailers",
  } as const;

  function start(session: ClientHttp2Session, exchange: UnaryExchange): ClientHttp2Stream {
    const { path, timeoutMs, headers } = exchange;
    const all: OutgoingHttpHeaders = { ...common, ":path": path };
    if (timeoutMs !== undefined) all["grpc-timeout"] = `${timeoutMs}m`;
    if (headers !== undefined) Object.assign(all, headers);
    const body = exchange.body();
    const stream = session.request(all);
    connection.track(session, stream);
    writeBody(stream, framed(body), body.rest);
    GrpcAnswer.collect(stream, exchange, readMaxBytes, () => connection.noteAlive());
    return stream;
  }

  return {
    format: "binary",
    exchange(exchange) {
      let cancelled = false;
      let stream: ClientHttp2Stream | undefined;
      const begin = (session: ClientHttp2Session) => {
        if (cancelled) return;
        try {
          stream = start(session, exchange);
        } catch (error) {
          exchange.onError(error);
        }
      };
      const { ready } = connection;
      if (ready !== undefined) begin(ready);
      else connection.open().then(begin, exchange.onError);
      return () => {
        cancelled = true;
        stream?.close(constants.NGHTTP2_CANCEL);
      };
    },
  };
}

function framed({ first, length }: RequestBody): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + first.length);
  frame[0] = 0;
  frame.writeUInt32BE(length, 1);
  frame.set(first, prefixBytes);
  return frame;
}

type AnswerParts = readonly [
  stream: ClientHttp2Stream,
  exchange: UnaryExchange,
  readMaxBytes: number,
  onAlive: () => void,
];

/** Collects one answer: headers, at most one message, trailers. */
class GrpcAnswer {
  readonly #exchange: UnaryExchange;
  readonly #stream: ClientHttp2Stream;
  readonly #readMaxBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #headers: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
  #trailers: IncomingHttpHeaders | undefined;
  #done = false;

  static collect(...[stream, exchange, readMaxBytes, onAlive]: AnswerParts): void {
    new GrpcAnswer(stream, exchange, readMaxBytes).#listen(stream, onAlive);
  }

  private constructor(stream: ClientHttp2Stream, exchange: UnaryExchange, readMaxBytes: number) {
    this.#stream = stream;
    this.#exchange = exchange;
    this.#readMaxBytes = readMaxBytes;
  }

  #listen(stream: ClientHttp2Stream, onAlive: () => void): void {
    stream.on("response", (headers) => {
      this.#headers = headers;
      onAlive();
    });
    stream.on("data", (chunk: Uint8Array) => this.#take(chunk));
    stream.on("trailers", (trailers) => {
      this.#trailers = trailers;
    });
    stream.on("end", () => this.#end());
    stream.on("error", (error) => this.#fail(error));
    stream.on("close", () => {
      if (!this.#done) this.#fail(resetError(stream.rstCode));
    });
  }

  #take(chunk: Uint8Array): void {
    if (this.#done) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > prefixBytes + this.#readMaxBytes) this.#refuse(this.#bytes); // also if it announced less
    if (this.#bytes < prefixBytes || this.#headers?.[":status"] !== 200) return;
    const announced = this.#announced();
    if (announced > this.#readMaxBytes) this.#refuse(announced);
  }

  /** The length of the message, which its prefix says. */
  #announced(): number {
    const [first] = this.#chunks;
    const prefix = first !== undefined && first.length >= prefixBytes ? first : joined(this.#chunks);
    return new DataView(prefix.buffer, prefix.byteOffset).getUint32(1);
  }

  #refuse(size: number): void {
    const { message, code } = answerTooLarge(size, this.#readMaxBytes);
    this.#fail(new ConnectError(message, code));
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #end(): void {
    if (this.#done) return;
    const headers = this.#headers ?? {};
    const status = (this.#trailers ?? headers)["grpc-status"];
    if (headers[":status"] !== 200 || status !== "0" || this.#bytes < prefixBytes) {
      if (this.#headers === undefined) return; // it was reset: "error" or "close" says how
      this.#fail(this.#error(headers[":status"] ?? 0));
      return;
    }
    const length = this.#announced();
    if (this.#bytes !== prefixBytes + length) {
      this.#fail(
        this.#bytes < prefixBytes + length
          ? new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument)
          : new ConnectError("protocol error: received extra output message for unary method", Code.Unimplemented),
      );
      return;
    }
    this.#done = true;
    const isPlain = ((this.#chunks[0]?.[0] ?? 0) & compressed) === 0;
    const message = joined(this.#chunks, prefixBytes, isPlain ? this.#exchange.answer : undefined);
    if (isPlain) this.#exchange.onAnswer(message, headers);
    else this.#inflate(message, headers);
  }

  #inflate(message: Uint8Array, headers: WireHeaders): void {
    if (headers["grpc-encoding"] !== compressionGzip.name) {
      const encoding = String(headers["grpc-encoding"]);
      this.#exchange.onError(new ConnectError(`unsupported response encoding "${encoding}"`, Code.Internal));
      return;
    }
    compressionGzip
      .decompress(message as Uint8Array<ArrayBuffer>, this.#readMaxBytes) // bytes of a socket are never shared memory
      .then((body) => this.#exchange.onAnswer(body, headers), this.#exchange.onError);
  }

  /** The library's error for a status that is not 0, for a missing status, or for an answer that is not gRPC. */
  #error(status: number): unknown {
    const headers = standardHeaders(this.#headers ?? {});
    const trailers = standardHeaders(this.#trailers ?? {});
    try {
      const { headerError } = validateResponse(status, headers);
      if (headerError !== undefined) return headerError;
      validateTrailer(trailers, headers);
      return findTrailerError(trailers) ?? new ConnectError("protocol error: missing output message", Code.Unknown);
    } catch (error) {
      return error;
    }
  }

  #fail(error: unknown): void {
    if (this.#done) return;
    this.#done = true;
    this.#exchange.onError(resetErrorOf(this.#stream, error));
  }
}

/** The meaning of a reset stream. Source: the gRPC protocol over HTTP/2, "Errors". */
const resetCodes: ReadonlyMap<number, Code> = new Map([
  [constants.NGHTTP2_PROTOCOL_ERROR, Code.Internal],
  [constants.NGHTTP2_INTERNAL_ERROR, Code.Internal],
  [constants.NGHTTP2_FLOW_CONTROL_ERROR, Code.Internal],
  [constants.NGHTTP2_FRAME_SIZE_ERROR, Code.Internal],
  [constants.NGHTTP2_COMPRESSION_ERROR, Code.Internal],
  [constants.NGHTTP2_REFUSED_STREAM, Code.Unavailable],
  [constants.NGHTTP2_CANCEL, Code.Canceled],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, Code.ResourceExhausted],
  [constants.NGHTTP2_INADEQUATE_SECURITY, Code.PermissionDenied],
]);

function resetErrorOf(stream: ClientHttp2Stream, error: unknown): unknown {
  const isReset = error instanceof Error && "code" in error && error.code === "ERR_HTTP2_STREAM_ERROR";
  return isReset ? resetError(stream.rstCode) : error;
}

function resetError(rstCode: number | undefined): ConnectError {
  const code = resetCodes.get(rstCode ?? 0) ?? Code.Aborted;
  return new ConnectError(`http/2 stream closed with error code 0x${(rstCode ?? 0).toString(16)}`, code);
}
