import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  ChatService,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { fromHex } from "../encoding.ts";
import { withAppends } from "./append.ts";
import type { OpenTier } from "./tier.ts";

/** Tier 3: one call per batch, both ways: for proxies that buffer a stream until its end. */
export const openPollTier: OpenTier = (transport) => {
  const client = createClient(ChatService, transport);
  return {
    name: "poll",
    attach: (attach, signal) =>
      withAppends(transport, attach, signal, async function* poll(both) {
        const requestId = { requestId: attach.requestId };
        let due = 0n;
        for (let startRequest = true; ; startRequest = false) {
          const answers = client.streamUnifiedChatWithToolsIdempotentPoll(
            { requestId, startRequest },
            { headers: attach.headers, signal: both },
          );
          for await (const { seqno, data, eof } of answers) {
            if (data === "" && eof !== true) continue;
            if (data !== "" && seqno !== due++) throw new ConnectError("an answer to a poll is missing", Code.DataLoss);
            if (data !== "") yield fromBinary(ServerMessageSchema, fromHex(data));
            if (eof === true) return;
          }
        }
      }),
  };
};
