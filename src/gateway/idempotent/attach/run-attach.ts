import { Code, ConnectError } from "@connectrpc/connect";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { parseAttach } from "../rpc/attach-headers.ts";
import { Incoming } from "../rpc/incoming.ts";
import { unreadable } from "../rpc/unreadable.ts";
import type { StreamSession } from "../stream/stream-session.ts";
import { openAttach, type StreamParts } from "./open-attach.ts";
import { encodeAny, serveAttach } from "./serve-attach.ts";

/** The carrier of one attach: the call of tier 1, or the calls of the other tiers. */
export interface Carrier {
  /** Digest of the caller's API key. */
  readonly caller: string;
  /** Those that name the stream, once they are there. */
  readonly headers: () => Promise<Headers>;
  /** Ends, or throws, once nothing more can come. */
  readonly messages: AsyncIterable<ClientMessage>;
  readonly waitsForGaps: boolean;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
}

/**
 * The way down of one attach, over any tier. Messages that came up count, even if the client is gone. `stopping`
 * aborts when the gateway stops.
 *
 * @throws ConnectError as docs/stream-protocol.md, "Refusals", says; nothing once the client has left.
 */
export async function* runAttach(
  parts: StreamParts,
  { caller, headers, messages, waitsForGaps, signal }: Carrier,
  stopping: AbortSignal,
): AsyncGenerator<ServerMessage, void> {
  try {
    const ask = parseAttach(await headers(), caller);
    const incoming = new Incoming(messages);
    const attach = await openAttach(parts, ask, { incoming, waitsForGaps, signal }, stopping);
    if (attach === undefined) return;
    void feedAll(attach.session, incoming, parts.limits.maxBodyBytes); // never rejects, and ends with the connection
    yield* serveAttach(parts, attach, stopping, signal);
  } catch (error) {
    if (signal.aborted) return; // the client has disconnected and would not get the error
    throw encodeAny(parts, error, false);
  }
}

/** Passes a connection's messages on, until it ends or breaks. Never rejects. */
async function feedAll(
  session: StreamSession,
  messages: AsyncIterable<ClientMessage>,
  mostBytes: number,
): Promise<void> {
  try {
    for await (const message of messages) await session.feed(message);
    session.endInput();
  } catch (error) {
    session.endInput(isOfMessage(error) ? unreadable(error, mostBytes) : undefined);
  }
}

/** Whether the error means that a received message is malformed, rather than that the connection broke. */
function isOfMessage(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  return [Code.InvalidArgument, Code.ResourceExhausted, Code.Internal].includes(error.code);
}
