import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import {
  BidiService,
  ChatService,
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { StreamTurns } from "../../turns/attachment.ts";
import type { Caller } from "../guard.ts";
import type { OpenRpc, RpcHandler, RpcRequest } from "../rpc-handler.ts";
import { parseAttach } from "./attach-headers.ts";
import { openAttach, type StreamParts } from "./open-attach.ts";
import { encodeAny, serveAttach } from "./serve-attach.ts";
import type { StreamSession } from "./stream-session.ts";

const callerKey = createContextKey<Caller | undefined>(undefined, { description: "who asks" });
const prefixes = [ChatService, BidiService].map(({ typeName }) => `/${typeName}/`);

/** How long a gateway that stops waits until its streams have said so; ms. */
const goodbyeMs = 1_000;

/** The idempotent streaming protocol over a gateway's parts, on the gateway's own port. Source: docs/stream-protocol.md. */
export function openIdempotent(streams: Pick<StreamTurns, "attach">): OpenRpc {
  return (parts) => new Idempotent({ ...parts, streams });
}

class Idempotent implements RpcHandler {
  readonly #parts: StreamParts;
  readonly #callers = new WeakMap<object, Caller>();
  readonly #stopping = new AbortController();
  /** Answers that are not written to their end. */
  readonly #open = new Set<Promise<void>>();
  readonly #serve: ReturnType<typeof connectNodeAdapter>;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#serve = connectNodeAdapter({
      routes: (router) => this.#routes(router),
      contextValues: (request: RpcRequest) => createContextValues().set(callerKey, this.#callers.get(request)),
      grpc: false,
      grpcWeb: false,
      readMaxBytes: parts.limits.maxBodyBytes,
      compressMinBytes: Number.MAX_SAFE_INTEGER, // an answer is never held back to be compressed
    });
  }

  takes(path: string): boolean {
    return prefixes.some((prefix) => path.startsWith(prefix));
  }

  handle(...[request, response, caller]: Parameters<RpcHandler["handle"]>): void {
    this.#callers.set(request, caller);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open.add(promise);
    response.once("close", () => {
      this.#open.delete(promise);
      resolve();
    });
    this.#serve(request, response);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    const stop = new AbortController();
    const all = Promise.all(this.#open);
    await Promise.race([all, bestEffort(this.#parts.clock.sleep(goodbyeMs, stop.signal))]);
    stop.abort();
  }

  #routes(router: ConnectRouter): void {
    router.service(ChatService, {
      streamUnifiedChatWithToolsIdempotent: (messages, context) => this.#bidi(messages, context),
    });
  }

  /** Tier 1: both ways in one call. */
  async *#bidi(messages: AsyncIterable<ClientMessage>, context: HandlerContext): AsyncGenerator<ServerMessage, void> {
    const { signal } = context;
    try {
      const ask = parseAttach(context.requestHeader, callerOf(context).digest);
      const attach = await openAttach(this.#parts, ask, { waitsForGaps: false }, signal);
      const feeding = feedAll(attach.session, messages, signal);
      try {
        yield* serveAttach(this.#parts, attach, this.#stopping.signal, signal);
      } finally {
        void feeding; // never rejects, and ends with the connection
      }
    } catch (error) {
      throw encodeAny(this.#parts, error, false);
    }
  }
}

/** Hands on what comes on a connection, until it ends or breaks. Never rejects. */
async function feedAll(
  session: StreamSession,
  messages: AsyncIterable<ClientMessage>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const message of messages) await session.feed(message, signal);
  } catch (error) {
    const { code } = ConnectError.from(error);
    if (code === Code.InvalidArgument || code === Code.ResourceExhausted) session.fail(unreadable(error));
  }
  session.endInput();
}

function unreadable(cause: unknown): MillraceError {
  return new MillraceError("invalid_request", "A message of the stream cannot be read, or is too large.", { cause });
}

function callerOf({ values }: HandlerContext): Caller {
  const caller = values.get(callerKey);
  if (caller === undefined) throw new MillraceError("internal", "A stream was reached without a key.");
  return caller;
}
