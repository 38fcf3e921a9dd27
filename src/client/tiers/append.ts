import { toBinary } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  BidiService,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { toHex } from "../encoding.ts";
import type { Attach } from "./tier.ts";

/** Sends each message as a separate call, in order. Rejects with the first that fails. Source: docs/stream-protocol.md, "Tiers 2 and 3". */
async function appendAll(
  client: Client<typeof BidiService>,
  { headers, requestId, outgoing }: Attach,
  signal: AbortSignal,
): Promise<void> {
  let appendSeqno = 0n;
  for await (const message of outgoing(signal)) {
    const data = toHex(toBinary(ClientMessageSchema, message));
    await client.bidiAppend({ data, requestId: { requestId }, appendSeqno }, { headers, signal });
    appendSeqno++;
  }
}

/** Runs the way up beside the way down: yields the messages that come down, and ends with the failure of an append. */
export async function* withAppends<T>(
  transport: Transport,
  attach: Attach,
  signal: AbortSignal,
  down: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  let failure: unknown;
  const up = appendAll(createClient(BidiService, transport), attach, both).catch((error: unknown) => {
    failure ??= error;
    stop.abort();
  });
  try {
    yield* down(both);
  } catch (error) {
    throw failure ?? error; // an aborted way down says less than the append that ended it
  } finally {
    stop.abort();
    await up;
  }
}
