import { toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
} from "../proto/aiserver/v1/chat_pb.ts";

/**
 * The head of the chain with one more event: SHA-256 over the head before it and the event's bytes, in base64; "" before
 * the first. Both sides keep it, so that a changed, lost, added or swapped event shows. Source: docs/stream-protocol.md, "Events".
 */
export async function nextChain(before: string, chunk: ServerChunk): Promise<string> {
  const head = base64Decode(before);
  const body = toBinary(ServerChunkSchema, chunk);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return base64Encode(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
