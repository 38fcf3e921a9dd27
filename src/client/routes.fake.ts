import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createRouterTransport, type Transport } from "@connectrpc/connect";
import {
  BidiService,
  ChatService,
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../proto/aiserver/v1/chat_pb.ts";
import { fromHex, toHex } from "./hex.ts";
import type { FakeStreamServer } from "./stream-server.fake.ts";

/** The three tiers of the wire in front of a fake server. */
export function routesOf(server: FakeStreamServer): (router: ConnectRouter) => void {
  /** Ways down by request id. */
  const downs = new Map<string, { readonly headers: Headers; readonly polls?: ReturnType<typeof numbered> }>();

  async function* joined(headers: Headers, up: AsyncIterable<ClientMessage>, signal: AbortSignal) {
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    let failure: unknown;
    const down = server.attach(headers, both);
    const { value: welcome } = await down.next();
    if (welcome !== undefined) yield welcome;
    void (async () => {
      for await (const message of up) await server.take(headers, message);
    })().catch((error: unknown) => {
      failure = error;
      stop.abort();
    });
    try {
      yield* down;
    } catch (error) {
      throw failure ?? error;
    }
  }

  return (router) => {
    router.service(ChatService, {
      streamUnifiedChatWithToolsIdempotent: (up, { requestHeader, signal }) => joined(requestHeader, up, signal),
      async *streamUnifiedChatWithToolsIdempotentSSE({ requestId }, { requestHeader, signal }) {
        downs.set(requestId, { headers: requestHeader });
        yield* server.attach(requestHeader, signal);
      },
      async *streamUnifiedChatWithToolsIdempotentPoll({ requestId, startRequest }, { requestHeader }) {
        const id = requestId?.requestId ?? "";
        const never = new AbortController().signal;
        if (startRequest === true)
          downs.set(id, { headers: requestHeader, polls: numbered(server.attach(requestHeader, never)) });
        const polls = downs.get(id)?.polls;
        if (polls === undefined) throw new ConnectError("unknown attach", Code.Unavailable);
        const { done, value } = await polls.next();
        if (done === true) yield { eof: true };
        else yield { seqno: BigInt(value.seqno), data: toHex(toBinary(ServerMessageSchema, value.message)) };
      },
    });
    router.service(BidiService, {
      async bidiAppend({ data, requestId }) {
        const down = downs.get(requestId?.requestId ?? "");
        if (down === undefined) throw new ConnectError("unknown attach", Code.Unavailable);
        await server.take(down.headers, fromBinary(ClientMessageSchema, fromHex(data)));
        return {};
      },
    });
  };
}

async function* numbered(messages: AsyncIterable<ServerMessage>) {
  let seqno = 0;
  for await (const message of messages) yield { seqno: seqno++, message };
}

/** A transport to the fake that needs no socket, and is real otherwise: bytes, envelopes, headers. */
export function transportTo(server: FakeStreamServer): Transport {
  return createRouterTransport(routesOf(server));
}
