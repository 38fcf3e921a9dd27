import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  compressedFlag,
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerRequest,
} from "@connectrpc/connect/protocol";
import { isMillraceError } from "../../../base/errors.ts";
import { BidiAppendRequestSchema } from "../../../proto/aiserver/v1/chat_pb.ts";
import { type BodyMemory, memoryOf } from "../../http/body.ts";
import { decodedBody } from "../../http/decoded-body.ts";
import { type JsonCost, JsonScan, refuseCostly } from "../../http/json-scan.ts";
import { tooLarge } from "../../http/refusal.ts";

/** The bytes of an envelope before its message: a flag, and four bytes of length. Source: docs/dev/wire/idempotent-streams.md, "Bytes". */
const headBytes = 5;

/** Members of `BidiAppendRequest` that hold a message: it is counted when it is read. */
const carriers: ReadonlySet<string> = new Set(["data", "dataBinary", "data_binary"]);
/** What an append has beside its message, at most. */
const appendBytes = 1_024;
const noCarriers: ReadonlySet<string> = new Set();

const contentType = /^application\/(?:connect\+)?(json|proto)\b/i;
const codings: ReadonlySet<string> = new Set(["gzip", "br"]);

/** What every message of a call is held against. */
export interface MessageLimits {
  /** Of one message, before and after it is unpacked. */
  readonly mostBytes: number;
  /** Counts one message at a time: until the next one is asked for. */
  readonly memory: BodyMemory;
  /** Is told why a message was refused. */
  readonly refused: (error: ConnectError) => void;
}

/**
 * The same call, whose messages pass the scan of HTTP bodies before objects are made of them. They are unpacked here, so that a small
 * message that becomes a large one is counted while it grows. Reading throws ConnectError, with the refusal as its cause.
 */
export function scannedCall(
  call: UniversalServerRequest & { readonly body: AsyncIterable<Uint8Array> },
  { method }: UniversalHandler,
  limits: MessageLimits,
): UniversalServerRequest {
  const format = contentType.exec(call.header.get("content-type") ?? "")?.[1]?.toLowerCase();
  if (format === undefined) return call; // Connect refuses it unread
  const isUnary = method.methodKind === "unary";
  const codingHeader = isUnary ? "content-encoding" : "connect-content-encoding";
  const coding = call.header.get(codingHeader) ?? "";
  const isCoded = codings.has(coding);
  const header = new Headers(call.header);
  if (isCoded) {
    header.delete(codingHeader);
    header.delete("content-length");
  }
  const { input } = method;
  const mostBytes = input === BidiAppendRequestSchema ? 2 * limits.mostBytes + appendBytes : limits.mostBytes; // it may be in hexadecimal
  const reader = { ...limits, mostBytes, input, isJson: format === "json", coding: isCoded ? coding : undefined };
  return { ...call, header, body: told(isUnary ? wholeBody(call.body, reader) : envelopes(call.body, reader), limits) };
}

interface MessageReader extends MessageLimits {
  readonly input: DescMessage;
  readonly isJson: boolean;
  readonly coding: string | undefined;
}

/**
 * What a message of protobuf costs: each field, and each element of a packed list, is a value. Bytes that are no protobuf pass: the parser
 * refuses them at the same place.
 *
 * @throws Refusal with status 413 (`refuseCostly`).
 */
export function costOf(message: DescMessage, bytes: Uint8Array): JsonCost {
  const cost = { bytes: bytes.length, values: 0, text: 0 };
  try {
    count(message, new BinaryReader(bytes), bytes.length, cost);
  } catch (error) {
    if (isMillraceError(error)) throw error;
  }
  return cost;
}

function count(message: DescMessage, reader: BinaryReader, end: number, cost: { values: number; text: number }): void {
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    cost.values++;
    if (wireType === WireType.LengthDelimited) {
      const field = message.fields.find((each) => each.number === number);
      const length = reader.uint32();
      const stop = reader.pos + length;
      const isCarrier = message === BidiAppendRequestSchema && carriers.has(field?.name ?? "");
      if (field?.message !== undefined) count(field.message, reader, Math.min(stop, end), cost);
      else if (field?.scalar === ScalarType.STRING && !isCarrier) cost.text += length;
      else if (field?.fieldKind === "list") cost.values += length;
      reader.pos = stop;
    } else reader.skip(wireType, number);
    refuseCostly({ bytes: end, ...cost });
  }
}

/** The body of a call with one message. */
async function* wholeBody(body: AsyncIterable<Uint8Array>, reader: MessageReader): AsyncGenerator<Uint8Array, void> {
  yield await scanned(body, reader);
}

/** The messages of a stream, each with its head. One that came is worked on before the next one is read. */
async function* envelopes(body: AsyncIterable<Uint8Array>, reader: MessageReader): AsyncGenerator<Uint8Array, void> {
  const envelope = new Envelope(reader);
  for await (const piece of body) {
    for (let at = 0; at < piece.length; ) {
      at += envelope.push(piece.subarray(at));
      const message = envelope.take();
      if (message === undefined) continue;
      const { flags, data } = message;
      const isCoded = (flags & compressedFlag) !== 0 && reader.coding !== undefined;
      const plain = await scanned(createAsyncIterable([data]), isCoded ? reader : { ...reader, coding: undefined });
      const head = Buffer.alloc(headBytes);
      head.writeUInt8(isCoded ? flags & ~compressedFlag : flags);
      head.writeUInt32BE(plain.length, 1);
      yield head;
      yield plain;
      reader.memory.hold(0);
    }
  }
  if (envelope.isOpen) throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
}

/** An envelope that arrives. Its memory grows with what has come, not with what its head announces. */
class Envelope {
  readonly #limits: MessageLimits;
  readonly #head = Buffer.alloc(headBytes);
  #headed = 0;
  #data = Buffer.alloc(0);
  #filled = 0;

  constructor(limits: MessageLimits) {
    this.#limits = limits;
  }

  get isOpen(): boolean {
    return this.#headed > 0;
  }

  get #length(): number {
    return this.#head.readUInt32BE(1);
  }

  /** How many bytes it took. */
  push(piece: Uint8Array): number {
    if (this.#headed < headBytes) {
      const taken = Math.min(headBytes - this.#headed, piece.length);
      this.#head.set(piece.subarray(0, taken), this.#headed);
      this.#headed += taken;
      if (this.#headed === headBytes && this.#length > this.#limits.mostBytes) throw tooLarge(this.#limits.mostBytes);
      return taken;
    }
    const taken = Math.min(this.#length - this.#filled, piece.length);
    const needed = this.#filled + taken;
    if (needed > this.#data.length) {
      const grown = Math.min(this.#length, Math.max(needed, 2 * this.#data.length));
      this.#limits.memory.hold(grown);
      const data = Buffer.alloc(grown);
      data.set(this.#data.subarray(0, this.#filled));
      this.#data = data;
    }
    this.#data.set(piece.subarray(0, taken), this.#filled);
    this.#filled = needed;
    return taken;
  }

  /** The message, once it is whole; the next one begins. */
  take(): { readonly flags: number; readonly data: Buffer } | undefined {
    if (this.#headed < headBytes || this.#filled < this.#length) return undefined;
    const message = { flags: this.#head.readUInt8(), data: this.#data };
    this.#headed = 0;
    this.#data = Buffer.alloc(0);
    this.#filled = 0;
    return message;
  }
}

/** One message, unpacked, whose cost is counted. */
async function scanned(
  body: AsyncIterable<Uint8Array>,
  { mostBytes, memory, input, isJson, coding }: MessageReader,
): Promise<Uint8Array> {
  const scan = new JsonScan(input === BidiAppendRequestSchema ? carriers : noCarriers);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of coding === undefined ? body : decodedBody(body, coding)) {
    size += piece.length;
    if (size > mostBytes) throw tooLarge(mostBytes);
    if (isJson) scan.push(piece);
    memory.hold(isJson ? memoryOf(scan.cost) : size);
    pieces.push(piece);
  }
  const [first] = pieces;
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  if (!isJson) memory.hold(memoryOf(costOf(input, bytes)));
  return bytes;
}

/** The same bytes; a refusal is told as Connect's errors are. */
async function* told(bytes: AsyncIterable<Uint8Array>, { refused }: MessageLimits): AsyncGenerator<Uint8Array, void> {
  try {
    yield* bytes;
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const code = error.code === "unavailable" ? Code.Unavailable : Code.InvalidArgument;
    const refusal = new ConnectError(error.message, code, undefined, undefined, error);
    refused(refusal);
    throw refusal;
  }
}
