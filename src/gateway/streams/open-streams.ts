import { fromBinary } from "@bufbuild/protobuf";
import { type ConnectRouter, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { within } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import {
  type BidiAppendRequest,
  type BidiPollRequest,
  BidiService,
  ChatService,
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { StreamTurns } from "../../turns/open-turns.ts";
import { bounds } from "../dialects/bounds.ts";
import { encodeInterruption, encodeRefusal } from "../dialects/idempotent/errors.ts";
import { type BodyMemory, memoryOf } from "../http/body.ts";
import type { Caller } from "../http/guard.ts";
import { type Refusal, tooLarge } from "../http/refusal.ts";
import type { OpenRpc, RpcHandler, RpcRequest, RpcResponse } from "../http/rpc-handler.ts";
import { Appends } from "./carriers/appends.ts";
import { type PollAnswer, PolledAttach } from "./carriers/poll.ts";
import { costOf } from "./rpc/message-door.ts";
import { encodeAny, isCallPath, unreadable, writeRefusal } from "./rpc/refuse-call.ts";
import { rpcServer } from "./rpc/rpc-server.ts";
import { type Carrier, carry, defaultPlaces, runSession, type StreamParts, StreamPlaces } from "./session.ts";
import { StreamMarks } from "./stream-log.ts";

const callerKey = createContextKey<CallOf>(
  { digest: "", memory: () => ({ hold() {} }) },
  { description: "the caller" },
);

/** Who calls: the digest of the API key, and the memory that this caller's messages may take. */
interface CallOf {
  readonly digest: string;
  readonly memory: () => BodyMemory;
}

/** How long a stopping gateway waits until its streams have told their clients; ms. */
const goodbyeMs = 1_000;

/** The idempotent streaming protocol over a gateway's parts, on the gateway's own port. Source: docs/stream-protocol.md. */
export function openStreams(
  streams: Pick<StreamTurns, "attach">,
  { openStreams = defaultPlaces.openStreams }: { readonly openStreams?: number | undefined } = {},
): OpenRpc {
  return (parts) => new Streams({ ...parts, streams, places: new StreamPlaces(openStreams), marks: new StreamMarks() });
}

class Streams implements RpcHandler {
  readonly #parts: StreamParts;
  readonly #stopping = new AbortController();
  /** Answers that are not written to their end. */
  readonly #open = new Set<Promise<void>>();
  readonly #appends: Appends;
  readonly #polled = new Map<string, PolledAttach>();
  readonly #serve: ReturnType<typeof rpcServer>;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#appends = new Appends(parts.clock);
    this.#serve = rpcServer({
      routes: (router) => this.#routes(router),
      mostBytes: Math.min(parts.limits.maxBodyBytes, bounds.message.stream),
    });
  }

  takes(path: string): boolean {
    return isCallPath(path);
  }

  handle(request: RpcRequest, response: RpcResponse, caller: Caller): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open.add(promise);
    response.once("close", () => {
      this.#open.delete(promise);
      resolve();
    });
    const memory = () => this.#parts.bodies.memory(caller.owner);
    this.#serve(request, response, { values: createContextValues().set(callerKey, { ...caller, memory }), memory });
  }

  refuse(request: RpcRequest, response: RpcResponse, refusal: Refusal): void {
    const { status } = refusal;
    const record = { ...refusal.toRecord(), ...(status === 403 ? { details: { reason: "foreign" } } : {}) };
    writeRefusal(request, response, { error: encodeRefusal(record, false), status });
  }

  async close(): Promise<void> {
    this.#stopping.abort(encodeInterruption("The gateway is stopping. Attach again from your cursor when it runs."));
    for (const polled of this.#polled.values()) polled.endSoon();
    await within(Promise.all(this.#open), goodbyeMs, this.#parts.clock);
  }

  #routes(router: ConnectRouter): void {
    router.service(ChatService, {
      streamUnifiedChatWithToolsIdempotent: (messages, context) => this.#bidi(messages, context),
      streamUnifiedChatWithToolsIdempotentSSE: (ask, { values, requestHeader, signal }) =>
        this.#down(values.get(callerKey), ask.requestId, requestHeader, signal),
      streamUnifiedChatWithToolsIdempotentPoll: (ask, context) => this.#poll(ask, context),
    });
    router.service(BidiService, { bidiAppend: async (ask, context) => this.#append(ask, context) });
  }

  /** Tier 1: both ways in one call. */
  async *#bidi(messages: AsyncIterable<ClientMessage>, context: HandlerContext): AsyncGenerator<ServerMessage, void> {
    const { requestHeader, signal, values } = context;
    const { digest } = values.get(callerKey);
    yield* this.#session({ caller: digest, headers: requestHeader, messages, waitsForGaps: false, signal });
  }

  /** Tier 3: a piece of that way down. */
  async *#poll(ask: BidiPollRequest, context: HandlerContext): AsyncGenerator<PollAnswer, void> {
    const caller = context.values.get(callerKey);
    const requestId = idOf(ask.requestId?.requestId ?? "");
    const key = writeJson([caller.digest, requestId]);
    let polled = this.#polled.get(key);
    if (polled === undefined) {
      if (ask.startRequest !== true) throw encodeInterruption("Nothing is open under this request id; attach again.");
      const stop = new AbortController();
      const down = this.#down(caller, requestId, context.requestHeader, stop.signal);
      polled = new PolledAttach(down, this.#parts.clock, () => {
        this.#polled.delete(key);
        stop.abort();
      });
      this.#polled.set(key, polled);
    }
    yield* polled.poll(context.signal);
  }

  #append(ask: BidiAppendRequest, context: HandlerContext): Record<string, never> {
    const caller = context.values.get(callerKey);
    try {
      const bytes = ask.dataBinary.length > 0 ? ask.dataBinary : fromHex(ask.data);
      const append = { seqno: ask.appendSeqno, ...readMessage(bytes) };
      this.#appends.append(caller, idOf(ask.requestId?.requestId ?? ""), append);
      return {};
    } catch (error) {
      throw encodeAny(this.#parts, error, false);
    }
  }

  /** Tiers 2 and 3: the way down for the messages that are appended under this request id. */
  async *#down(
    caller: CallOf,
    requestId: string,
    headers: Headers,
    signal: AbortSignal,
  ): AsyncGenerator<ServerMessage, void> {
    const up = this.#appends.claim(caller, idOf(requestId));
    try {
      yield* this.#session({ caller: caller.digest, headers, messages: up.messages(), waitsForGaps: true, signal });
    } finally {
      up.end();
    }
  }

  #session(up: Omit<Carrier, "write">): AsyncGenerator<ServerMessage, void> {
    return carry(up, (carrier) => runSession(this.#parts, carrier, this.#stopping.signal));
  }
}

/** @throws MillraceError `invalid_request`. */
function idOf(requestId: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(requestId)) return requestId;
  throw new MillraceError("invalid_request", "request_id: 1 to 128 printable characters name an attach.", {
    param: "request_id",
    hint: "Send a fresh UUID with every attach.",
  });
}

function fromHex(text: string): Uint8Array {
  if (text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text)) return Buffer.from(text, "hex");
  throw new MillraceError("invalid_request", "data is not hexadecimal text.", {
    param: "data",
    hint: "Send the protobuf bytes of the message as hexadecimal text, or as data_binary.",
  });
}

/** @throws MillraceError `invalid_request`, also where it costs more than a message may. */
function readMessage(bytes: Uint8Array): { readonly message: ClientMessage; readonly bytes: number } {
  if (bytes.length > bounds.message.stream) throw tooLarge(bounds.message.stream);
  const cost = costOf(ClientMessageSchema, bytes);
  try {
    return { message: fromBinary(ClientMessageSchema, bytes), bytes: memoryOf(cost) };
  } catch (error) {
    throw unreadable(error);
  }
}
