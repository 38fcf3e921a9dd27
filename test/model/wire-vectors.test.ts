import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  StreamUnifiedChatRequestWithToolsIdempotentSchema as RequestSchema,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ResponseSchema,
} from "../../src/proto/aiserver/v1/chat_pb.ts";

// The vectors of facts/idempotent-streams.md, A4: what an original client and server put on the wire.
const chat = (conversationId: string) =>
  ({
    case: "clientChunk",
    value: { request: { case: "streamUnifiedChatRequest", value: { conversationId } } },
  }) as const;
const chunk = (text: string, eventId: string) =>
  ({
    case: "serverChunk",
    value: { eventId, response: { case: "streamUnifiedChatResponse", value: { text } } },
  }) as const;

test.each([
  ["a chat request with number 0", { request: chat("c1"), seqno: 0 }, "0a070a05ba010263312800"],
  [
    "a tool result with number 1",
    {
      request: {
        case: "clientChunk",
        value: { request: { case: "clientSideToolV2Result", value: { tool: 5, toolCallId: "t1" } } },
      },
      seqno: 1,
    } as const,
    "0a09120708059a02027431 2801",
  ],
  ["abort", { request: { case: "abort", value: {} } } as const, "1200"],
  ["close", { request: { case: "close", value: {} } } as const, "1a00"],
])("the client's message: %s", (_name, init, hex) => {
  const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
  expect(Buffer.from(toBinary(RequestSchema, create(RequestSchema, init)))).toEqual(bytes);
  expect(fromBinary(RequestSchema, bytes)).toEqual(create(RequestSchema, init));
});

test.each([
  ["welcome", { response: { case: "welcomeMessage", value: {} } } as const, "1a00"],
  ["welcome, degraded", { response: { case: "welcomeMessage", value: { isDegradedMode: true } } } as const, "1a021001"],
  ["acknowledgement of 0", { response: { case: "seqnoAck", value: 0 } } as const, "2000"],
  ["acknowledgement of 300", { response: { case: "seqnoAck", value: 300 } } as const, "20ac02"],
  ["text", { response: chunk("Hi", "17") }, "0a0a12040a0248693a023137"],
  [
    "thinking",
    {
      response: {
        case: "serverChunk",
        value: { eventId: "18", response: { case: "streamUnifiedChatResponse", value: { thinking: { text: "hm" } } } },
      },
    } as const,
    "0a0d1207ca01040a02686d3a023138",
  ],
])("the server's message: %s", (_name, init, hex) => {
  const bytes = Buffer.from(hex, "hex");
  expect(Buffer.from(toBinary(ResponseSchema, create(ResponseSchema, init)))).toEqual(bytes);
  expect(fromBinary(ResponseSchema, bytes)).toEqual(create(ResponseSchema, init));
});
