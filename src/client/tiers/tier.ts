import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  BidiService,
  ChatService,
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { fromHex, toHex } from "../hex.ts";

/** One attach to a stream. */
export interface Attach {
  /** The three headers of the protocol, and ours. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names this attach on the tiers that send and receive in separate calls. */
  readonly requestId: string;
  /** The messages to send. Ends when there are no more (the attach stays open), or when the signal aborts. */
  readonly outgoing: (signal: AbortSignal) => AsyncIterable<ClientMessage>;
}

/** Both ways in one call, a server stream with calls up, calls both ways. */
export type TierName = "bidi" | "sse" | "poll";

/**
 * One way to carry the protocol: both ways in one call (1), a server stream down and calls up (2), or calls both ways (3). Yields the
 * server's messages; throws Connect's error when the call fails. A clean end without the stream's own end is a loss like any other.
 * Source: docs/dev/wire/idempotent-streams.md, "Tiers".
 */
export interface Tier {
  readonly name: TierName;
  attach(attach: Attach, signal: AbortSignal): AsyncIterable<ServerMessage>;
}

/** Makes a tier over a transport to the gateway. */
export type OpenTier = (transport: Transport) => Tier;

/** Tier 1: one call, both ways. Needs HTTP/2, and a transport that can send while it receives: Node's, not a browser's. */
export const openBidiTier: OpenTier = (transport) => {
  const client = createClient(ChatService, transport);
  return {
    name: "bidi",
    attach: ({ headers, outgoing }, signal) =>
      client.streamUnifiedChatWithToolsIdempotent(outgoing(signal), { headers, signal }),
  };
};

/** Tier 2: a server stream down, one call per message up. Works over HTTP/1.1 and in browsers. */
export const openSseTier: OpenTier = (transport) => {
  const client = createClient(ChatService, transport);
  return withAppends("sse", transport, ({ requestId, headers }, signal) =>
    client.streamUnifiedChatWithToolsIdempotentSSE({ requestId }, { headers, signal }),
  );
};

/** Tier 3: one call per batch, both ways: for proxies that buffer a stream until its end. */
export const openPollTier: OpenTier = (transport) => {
  const client = createClient(ChatService, transport);
  return withAppends("poll", transport, async function* poll({ requestId, headers }, signal) {
    let due = 0n;
    for (let startRequest = true; ; startRequest = false) {
      const ask = { requestId: { requestId }, startRequest };
      const answers = client.streamUnifiedChatWithToolsIdempotentPoll(ask, { headers, signal });
      for await (const { seqno, data, eof } of answers) {
        if (data === "" && eof !== true) continue;
        if (data !== "" && seqno !== due++) throw new ConnectError("an answer to a poll is missing", Code.DataLoss);
        if (data !== "") yield fromBinary(ServerMessageSchema, fromHex(data));
        if (eof === true) return;
      }
    }
  });
};

/**
 * A tier whose messages go up in a call each, in order, beside the way down. An attach ends with the failure of an append. Source:
 * docs/stream-protocol.md, "Tiers 2 and 3".
 */
function withAppends(name: TierName, transport: Transport, down: Tier["attach"]): Tier {
  const client = createClient(BidiService, transport);
  return {
    name,
    async *attach(attach, signal) {
      const { headers, requestId, outgoing } = attach;
      const stop = new AbortController();
      const both = AbortSignal.any([signal, stop.signal]);
      let failure: unknown;
      const appendAll = async () => {
        let appendSeqno = 0n;
        for await (const message of outgoing(both)) {
          const data = toHex(toBinary(ClientMessageSchema, message));
          await client.bidiAppend({ data, requestId: { requestId }, appendSeqno }, { headers, signal: both });
          appendSeqno++;
        }
      };
      const up = appendAll().catch((error: unknown) => {
        failure ??= error;
        stop.abort();
      });
      try {
        yield* down(attach, both);
      } catch (error) {
        throw failure ?? error; // an aborted way down says less than the append that ended it
      } finally {
        stop.abort();
        await up;
      }
    },
  };
}
