import { toBinary } from "@bufbuild/protobuf";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
} from "../proto/aiserver/v1/chat_pb.ts";
import { fromBase64, toBase64 } from "./encoding.ts";

/**
 * The head of the chain with one more event: SHA-256 over the head before it and the event's bytes, in base64; "" before
 * the first. Both sides keep it, so that a changed, lost, added or swapped event shows. Source: docs/stream-protocol.md, "Events".
 */
export async function nextChain(before: string, chunk: ServerChunk): Promise<string> {
  const head = fromBase64(before);
  const body = toBinary(ServerChunkSchema, chunk);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return toBase64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
