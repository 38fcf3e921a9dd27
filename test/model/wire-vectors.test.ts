import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamToJson } from "@connectrpc/connect/protocol-connect";
import { expect, test } from "vitest";
import { Secret } from "../../src/base/secret.ts";
import { parseKey } from "../../src/log/sealing/keys.ts";
import {
  StreamUnifiedChatRequestWithToolsIdempotentSchema as RequestSchema,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ResponseSchema,
} from "../../src/proto/aiserver/v1/chat_pb.ts";

// What an original client and server put on the wire. Source: docs/dev/wire/idempotent-streams.md, "Bytes".
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

test("the envelopes of a stream: a message, and the end of one that went well", () => {
  const request = Buffer.from("0a070a05ba010263312800", "hex");
  expect(Buffer.from(encodeEnvelope(0, request))).toEqual(Buffer.concat([Buffer.from("000000000b", "hex"), request]));
  const end = new TextEncoder().encode(JSON.stringify(endStreamToJson(new Headers(), undefined, undefined)));
  expect(Buffer.from(encodeEnvelope(endStreamFlag, end)).toString("hex")).toBe("02000000027b7d");
});

const counting = Uint8Array.from({ length: 32 }, (_, i) => i);

test.each([
  [counting, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"],
  [new Uint8Array(32).fill(0xff), `${"_".repeat(42)}8`],
])("a key as its header has it, and no other spelling of it", (bytes, text) => {
  expect(base64Encode(bytes, "url")).toBe(text);
  expect(parseKey(new Secret(text)).export()).toEqual(Buffer.from(bytes));
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const others = digits
    .split("")
    .map((last) => text.slice(0, -1) + last)
    .filter((other) => other !== text);
  const sameBytes = others.filter((other) => Buffer.from(other, "base64url").equals(bytes)); // as Node's decoder takes them
  expect(sameBytes).toHaveLength(3);
  for (const other of sameBytes) expect(() => parseKey(new Secret(other))).toThrow("base64url");
});
