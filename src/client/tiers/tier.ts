import type { Transport } from "@connectrpc/connect";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../proto/aiserver/v1/chat_pb.ts";

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
 * Source: docs/wire/idempotent-streams.md, "Tiers".
 */
export interface Tier {
  readonly name: TierName;
  attach(attach: Attach, signal: AbortSignal): AsyncIterable<ServerMessage>;
}

/** Makes a tier over a transport to the gateway. */
export type OpenTier = (transport: Transport) => Tier;
