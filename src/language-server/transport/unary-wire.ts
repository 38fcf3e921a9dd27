import { Readable, type Writable } from "node:stream";
import type { DescMessage } from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";
import { joinedForReading } from "./read-fields.ts";

/** One request with one answer, as a protocol puts it on the wire. */
export interface UnaryExchange {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly timeoutMs: number | undefined;
  /** More headers, in lower case. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Whether the request carries an id: such requests have to reach the server in the order in which `body` is asked for. */
  readonly ordered: boolean;
  /** The request's bytes; asked for once, just before they are written. */
  readonly body: () => RequestBody;
  /** The answer's type, where it is read. */
  readonly answer?: DescMessage;
  /** The answer's bytes after decompression. */
  readonly onAnswer: (body: Uint8Array, headers: WireHeaders) => void;
  /** A `ConnectError`, an error of Node, or a `MillraceError`; the last call. */
  readonly onError: (error: unknown) => void;
}

export interface RequestBody {
  readonly first: Uint8Array;
  /** What follows, of a large body: each piece is made when the one before has left. */
  readonly rest?: Iterable<Uint8Array>;
  /** Of all of it, in bytes. */
  readonly length: number;
}

export function whole(first: Uint8Array): RequestBody {
  return { first, length: first.length };
}

/** Ends a request with a body, of which `first` is the part that is there. */
export function writeBody(stream: Writable, first: Uint8Array, rest: RequestBody["rest"]): void {
  if (rest === undefined) stream.end(first);
  else {
    stream.write(first);
    Readable.from(rest).pipe(stream);
  }
}

/** Headers as Node gives them, in lower case. */
export type WireHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Tells the server that the answer is no longer needed. No callback runs after this. */
export type CancelExchange = () => void;

/** One way to put unary calls on the wire, over connections that it keeps. */
export interface UnaryWire {
  readonly format: "binary" | "json";
  exchange(exchange: UnaryExchange): CancelExchange;
}

/** Node's headers as the standard ones, for errors and interceptors. */
export function standardHeaders(headers: WireHeaders): Headers {
  const standard = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    for (const one of Array.isArray(value) ? value : [value]) standard.append(name, String(one));
  }
  return standard;
}

/** An answer of fewer chunks is joined and decoded in some milliseconds. */
const manyChunks = 16;

/** The bytes that came from that one on, in one piece. Of many, of a message of this type, as `joinedForReading`. */
export function joined(chunks: readonly Uint8Array[], from = 0, type?: DescMessage): Uint8Array {
  try {
    if (type !== undefined && chunks.length > manyChunks) return joinedForReading(chunks, from, type);
  } catch {
    // the library says what is wrong with it
  }
  const [only] = chunks;
  return (only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)).subarray(from);
}

/** How an answer past the bound is named; the words are Connect's. */
export function answerTooLarge(size: number, readMaxBytes: number): { readonly message: string; readonly code: Code } {
  const resourceExhausted: Code.ResourceExhausted = 8;
  return {
    message: `message size ${size} is larger than configured readMaxBytes ${readMaxBytes}`,
    code: resourceExhausted,
  };
}
