import { fromBinary, fromJson, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { systemClock } from "../../src/base/clock.ts";
import type { TierName } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, type StreamNames } from "../../src/gateway/streams/stream-world.fake.ts";
import { originalMessage, originalStream, originalUnary } from "./original-schema.ts";

const clientMessage = originalMessage("StreamUnifiedChatRequestWithToolsIdempotent");
const serverMessage = originalMessage("StreamUnifiedChatResponseWithToolsIdempotent");
const errorDetails = originalMessage("ErrorDetails");
const method = "StreamUnifiedChatWithToolsIdempotent";

/** A message of the server, as the wire's JSON has it. */
interface Received {
  readonly welcomeMessage?: { readonly isDegradedMode?: boolean };
  readonly seqnoAck?: number;
  readonly serverChunk?: {
    readonly eventId?: string;
    readonly streamUnifiedChatResponse?: { readonly text?: string; readonly thinking?: { readonly text?: string } };
    readonly clientSideToolV2Call?: OriginalCall;
  };
}

export interface OriginalCall {
  readonly toolCallId: string;
  readonly name: string;
}

export interface OriginalOptions {
  readonly tier: TierName;
  /** Whether calls are JSON instead of protobuf. */
  readonly json: boolean;
  /** Where the gateway is now. */
  readonly target: () => { readonly url: string; readonly key: string };
  readonly names: StreamNames;
  /** `stream_unified_chat_request`. */
  readonly request: JsonObject;
  readonly runTool: (call: OriginalCall) => Promise<string>;
  /** The user's own signal. */
  readonly user: AbortSignal;
  /** Between two attaches; ms. */
  readonly waitMs: number;
}

/** How it went, and what the user was shown. */
export interface OriginalOutcome {
  readonly end: "done" | "failed" | "aborted";
  readonly text: string;
  readonly attaches: number;
  /** Of `failed`: `ErrorDetails` as JSON. */
  readonly details: JsonObject | undefined;
}

/**
 * A client as the protocol's were before Millrace: only the published fields, a cursor that moves with text, a cache of results,
 * chunks that may be sent twice, and a constant wait until an error with details ends it. The numbers in brackets are the rows of
 * docs/dev/wire/idempotent-streams.md, "Client algorithm".
 */
export async function runOriginalClient(options: OriginalOptions): Promise<OriginalOutcome> {
  const { names, user, waitMs, runTool } = options;
  const unacked = new Map<number, JsonObject>();
  const cache = new Map<string, string>();
  let live: JsonObject[] = [];
  let [cursor, nextSeqno, text, attaches, isDegraded] = ["0", 0, "", 0, false];
  let wake = Promise.withResolvers<void>();
  const give = (clientChunk: JsonObject) => {
    const seqno = nextSeqno++; // [3]
    const message = { clientChunk, seqno };
    unacked.set(seqno, message);
    live.push(message);
    wake.resolve();
    wake = Promise.withResolvers();
  };
  give({ streamUnifiedChatRequest: options.request });
  for (;;) {
    attaches++;
    const gone = new AbortController();
    try {
      const headers = headersOf(names, cursor);
      for await (const received of attach(
        options,
        headers,
        outgoing(gone.signal),
        AbortSignal.any([user, gone.signal]),
      )) {
        isDegraded ||= received.welcomeMessage?.isDegradedMode === true; // [7]
        if (received.seqnoAck !== undefined) unacked.delete(received.seqnoAck); // [8]
        const { serverChunk: chunk } = received;
        if (chunk === undefined) continue;
        const { eventId = "", streamUnifiedChatResponse: told, clientSideToolV2Call: call } = chunk;
        if (eventId === "" && !isDegraded) throw new Error("a chunk has no id"); // [9]
        if ((told?.text ?? "") !== "" || (told?.thinking?.text ?? "") !== "") {
          cursor = eventId; // [10]
          cache.clear();
        }
        text += told?.text ?? "";
        if (call === undefined) continue;
        const { toolCallId } = call;
        const result = cache.get(toolCallId) ?? (await runTool(call)); // the cache of row 10
        cache.set(toolCallId, result);
        give({ clientSideToolV2Result: { tool: 19, toolCallId, mcpResult: { result } } });
      }
      return { end: "done", text, attaches, details: undefined }; // [12]
    } catch (error) {
      const details = detailsOf(error);
      if (isDegraded || details !== undefined) return { end: "failed", text, attaches, details }; // [14, 15]
      if (user.aborted) {
        await abortOnce(options, headersOf(names, cursor)); // [16]
        return { end: "aborted", text, attaches, details: undefined };
      }
      await systemClock.sleep(waitMs, user).catch(() => undefined); // [17]
    } finally {
      gone.abort();
    }
  }

  /** [5]: all that was not acknowledged, then the queue, which may still hold some of it. */
  async function* outgoing(signal: AbortSignal): AsyncGenerator<JsonObject, void> {
    yield* unacked.values();
    const over = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    while (!signal.aborted) {
      const [next, ...rest] = live;
      live = rest;
      if (next === undefined) await Promise.race([wake.promise, over]);
      else yield next;
    }
  }
}

/** One more call that sends nothing but `abort`. It stays to the end of the call, since a message without an acknowledgement may be lost. */
async function abortOnce(options: OriginalOptions, headers: Record<string, string>): Promise<void> {
  async function* only(): AsyncGenerator<JsonObject, void> {
    yield { abort: {} };
  }
  try {
    for await (const _ of attach(options, headers, only(), new AbortController().signal)) continue;
  } catch {
    // a cancelled answer ends with an error
  }
}

function attach(
  options: OriginalOptions,
  headers: Record<string, string>,
  up: AsyncIterable<JsonObject>,
  signal: AbortSignal,
): AsyncGenerator<Received, void> {
  const { tier } = options;
  const transport = transportTo(options);
  if (tier === "bidi") return callBidi(transport, headers, up, signal);
  const requestId = { requestId: crypto.randomUUID() };
  const down = tier === "sse" ? callSse : callPoll;
  return withAppends(down(transport, requestId, headers, signal), transport, requestId, up, signal);
}

async function* callBidi(
  transport: Transport,
  headers: Record<string, string>,
  up: AsyncIterable<JsonObject>,
  signal: AbortSignal,
): AsyncGenerator<Received, void> {
  async function* messages() {
    for await (const message of up) yield fromJson(clientMessage, message);
  }
  const { message } = await transport.stream(originalStream(method), signal, undefined, headers, messages());
  for await (const received of message) yield toJson(serverMessage, received) as Received; // as the schema says
}

type RequestId = { readonly requestId: string };

async function* callSse(
  transport: Transport,
  requestId: RequestId,
  headers: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<Received, void> {
  const ask = one(fromJson(originalMessage("BidiRequestId"), { ...requestId }));
  const { message } = await transport.stream(originalStream(`${method}SSE`), signal, undefined, headers, ask);
  for await (const received of message) yield toJson(serverMessage, received) as Received; // as the schema says
}

async function* callPoll(
  transport: Transport,
  requestId: RequestId,
  headers: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<Received, void> {
  const answer = originalMessage("BidiPollResponse");
  for (let startRequest = true; ; startRequest = false) {
    const asked = { requestId: { ...requestId }, ...(startRequest ? { startRequest } : {}) };
    const ask = one(fromJson(originalMessage("BidiPollRequest"), asked));
    const { message } = await transport.stream(originalStream(`${method}Poll`), signal, undefined, headers, ask);
    for await (const polled of message) {
      const { data = "", eof = false } = toJson(answer, polled) as { data?: string; eof?: boolean }; // as the schema says
      if (eof) return;
      yield toJson(serverMessage, fromBinary(serverMessage, Buffer.from(data, "hex"))) as Received;
    }
  }
}

async function* withAppends(
  down: AsyncIterable<Received>,
  transport: Transport,
  requestId: RequestId,
  up: AsyncIterable<JsonObject>,
  signal: AbortSignal,
): AsyncGenerator<Received, void> {
  const append = originalUnary("BidiService", "BidiAppend");
  const appending = (async () => {
    let appendSeqno = 0;
    for await (const message of up) {
      const data = Buffer.from(toBinary(clientMessage, fromJson(clientMessage, message))).toString("hex");
      const asked = { data, requestId: { ...requestId }, appendSeqno: String(appendSeqno++) };
      await transport.unary(append, signal, undefined, undefined, fromJson(append.input, asked));
    }
  })();
  appending.catch(() => undefined); // the way down says why
  yield* down;
}

function transportTo({ tier, json, target }: OriginalOptions): Transport {
  const { url, key } = target();
  return createConnectTransport({
    baseUrl: url,
    httpVersion: tier === "bidi" ? "2" : "1.1",
    useBinaryFormat: !json,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${key}`);
        return next(request);
      },
    ],
  });
}

async function* one<T>(message: T): AsyncGenerator<T, void> {
  yield message;
}

/** [15]: the first `ErrorDetails` of an error, which is all that ends the attempts. */
function detailsOf(error: unknown): JsonObject | undefined {
  const { details } = ConnectError.from(error);
  for (const detail of details) {
    if (!("type" in detail) || detail.type !== errorDetails.typeName) continue;
    return toJson(errorDetails, fromBinary(errorDetails, detail.value)) as JsonObject; // a message is an object
  }
  return undefined;
}
