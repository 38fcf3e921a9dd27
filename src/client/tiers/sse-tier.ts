import { createClient } from "@connectrpc/connect";
import { ChatService } from "../../proto/aiserver/v1/chat_pb.ts";
import { withAppends } from "./append.ts";
import type { OpenTier } from "./tier.ts";

/** Tier 2: a server stream down, one call per message up. Works over HTTP/1.1 and in browsers. */
export const openSseTier: OpenTier = (transport) => {
  const client = createClient(ChatService, transport);
  return {
    name: "sse",
    attach: (attach, signal) =>
      withAppends(transport, attach, signal, (both) =>
        client.streamUnifiedChatWithToolsIdempotentSSE(
          { requestId: attach.requestId },
          { headers: attach.headers, signal: both },
        ),
      ),
  };
};
