import { toBinary } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  BidiService,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
} from "../proto/aiserver/v1/chat_pb.ts";
import type { Attach } from "./tier.ts";

/** Sends each message as a call of its own, in order. Rejects with the first that fails. Source: facts, A3.9. */
async function appendAll(
  client: Client<typeof BidiService>,
  { headers, requestId, outgoing }: Attach,
  signal: AbortSignal,
): Promise<void> {
  let appendSeqno = 0n;
  for await (const message of outgoing) {
    const data = toHex(toBinary(ClientMessageSchema, message));
    await client.bidiAppend({ data, requestId: { requestId }, appendSeqno }, { headers, signal });
    appendSeqno++;
  }
}

/**
 * Runs the way up beside the way down: yields what comes down, and when an append fails ends it with that failure.
 */
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

export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Throws RangeError for what is not hex. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) throw new RangeError("not hexadecimal text");
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(i * 2, i * 2 + 2), 16);
  return bytes;
}
