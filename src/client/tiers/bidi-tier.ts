import { createClient } from "@connectrpc/connect";
import { ChatService } from "../../proto/aiserver/v1/chat_pb.ts";
import type { OpenTier } from "./tier.ts";

/** Tier 1: one call, both ways. Needs HTTP/2, and a transport that can send while it receives: Node's, not a browser's. */
export const openBidiTier: OpenTier = (transport) => {
  const client = createClient(ChatService, transport);
  return {
    name: "bidi",
    attach: ({ headers, outgoing }, signal) =>
      client.streamUnifiedChatWithToolsIdempotent(outgoing(signal), { headers, signal }),
  };
};
