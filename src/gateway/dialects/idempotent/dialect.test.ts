import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventIdOf } from "../../../log/event.ts";
import {
  StreamUnifiedChatRequestSchema as ChatSchema,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  ConversationMessageSchema as ConversationSchema,
  ConversationMessage_MessageType as MessageType,
  ClientSideToolV2ResultSchema as ResultSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { parseMessage, readPayload } from "./client-message.ts";
import { chunkId, endId, parseEventId } from "./event-id.ts";
import { parseChat } from "./request.ts";
import { unreadFields } from "./unread.ts";

const bytes = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");
const read = (hex: string) => parseMessage(fromBinary(ClientMessageSchema, bytes(hex)));

describe("ids of chunks", () => {
  const place = fc.tuple(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1e9 }), fc.nat({ max: 300 }));
  const idOf = ([segment, seq, part]: readonly [number, number, number]) => chunkId(segment, eventIdOf(seq, [5]), part);

  test("sort as text the way chunks follow each other, and are cursors (P4)", () => {
    fc.assert(
      fc.property(place, place, (a, b) => {
        const order = a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
        const [x, y] = [idOf(a), idOf(b)];
        expect(Math.sign(order)).toBe(x < y ? -1 : x > y ? 1 : 0);
        expect(parseEventId(x)).toBe(x);
        expect(x > "0" && x < endId(a[0])).toBe(true);
        expect(endId(a[0]) < y).toBe(b[0] > a[0]);
      }),
    );
  });

  test.each(["", "1", "a0.a1", "a1", "a1.", "a1.a1.a1.a1", "a1.a1 ", "A1.a1"])("no cursor is made of %j", (text) => {
    expect(() => parseEventId(text)).toThrow(/not an event id/);
  });
});

describe("a client's message", () => {
  test("is kept without its number, with the fields that we do not know (P1)", () => {
    const message = fc.record({
      conversationId: fc.string(),
      seqno: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      unknown: fc.uint8Array({ maxLength: 20 }),
    });
    fc.assert(
      fc.property(message, ({ conversationId, seqno, unknown }) => {
        const later = Buffer.concat([Buffer.of(0xfa, 0x3e, unknown.length), unknown]); // field 1007, of a later version
        const value = { request: { case: "streamUnifiedChatRequest", value: { conversationId } } } as const;
        const known = toBinary(
          ClientMessageSchema,
          create(ClientMessageSchema, { seqno, request: { case: "clientChunk", value } }),
        );
        const first = parseMessage(fromBinary(ClientMessageSchema, Buffer.concat([known, later])));
        expect(first.seqno).toBe(seqno);
        expect(Buffer.from(first.payload).includes(later)).toBe(true);
        const input = readPayload(first.payload);
        expect(input.type === "request" && input.chat.conversationId).toBe(conversationId);
        const again = parseMessage(fromBinary(ClientMessageSchema, Buffer.concat([first.payload, bytes("28 07")])));
        expect(again.seqno).toBe(7);
        expect(Buffer.from(again.payload)).toEqual(Buffer.from(first.payload));
      }),
    );
  });

  test("means what the vectors of the original client say", () => {
    expect(read("0a 07 0a 05 ba 01 02 63 31 28 00")).toMatchObject({
      seqno: 0,
      input: { type: "request", chat: { conversationId: "c1" } },
    });
    expect(read("0a 09 12 07 08 05 9a 02 02 74 31 28 01")).toMatchObject({
      seqno: 1,
      input: { type: "tool_result", callId: "t1", text: "", isError: false },
    });
    expect(read("12 00")).toMatchObject({ seqno: undefined, input: { type: "abort" } });
    expect(read("1a 00")).toMatchObject({ seqno: undefined, input: { type: "close" } });
  });

  test("without content, or a chunk without a number, is refused", () => {
    expect(() => read("28 00")).toThrow(/no content/);
    expect(() => read("0a 07 0a 05 ba 01 02 63 31")).toThrow(/without a number/);
  });
});

describe("a chat request", () => {
  const parse = (chat: object) => parseChat(create(ChatSchema, chat as MessageInitShape<typeof ChatSchema>));
  const conversation = [{ type: 1, text: "Hello" }];
  const modelDetails = { modelName: "m" };

  test("becomes a turn: messages, tools, effort", () => {
    const mcpTools = [{ name: "look", description: "looks", parameters: '{"type":"object"}' }];
    const said = [...conversation, { type: 2, text: "Hi", thinking: { text: "hm" } }, { type: 2, text: "" }];
    expect(
      parse({ conversation: said, modelDetails, mcpTools, thinkingLevel: 2, shouldDisableTools: true }),
    ).toMatchObject({
      model: "m",
      messages: [
        { role: "user", parts: [{ text: "Hello" }] },
        { role: "assistant", parts: [{ text: "Hi" }], thinking: "hm" },
      ],
      tools: [{ name: "look", parameters: { type: "object" } }],
      toolChoice: { type: "none" },
      reasoningEffort: "high",
    });
  });

  test("brings files, the form of the answer, stop sequences, the effort by its name and a limit", () => {
    const png = Uint8Array.of(1, 2, 3);
    const files = [
      { mimeType: "image/png", data: png },
      { mimeType: "text/plain", name: "a.txt", data: new TextEncoder().encode("in a file") },
      { mimeType: "application/pdf", name: "b.pdf", data: new TextEncoder().encode("%PDF-1.4") },
    ];
    const schema = { type: "object", properties: { city: { type: "string" } } };
    const responseFormat = JSON.stringify({ type: "json_schema", json_schema: { name: "place", schema } });
    const more = {
      responseFormat,
      stop: ["5", "5", ""],
      reasoningEffort: "xhigh",
      thinkingLevel: 1,
      maxOutputTokens: 7,
    };
    const asked = parse({ conversation: [{ type: 1, text: "Look", files }], modelDetails, ...more });
    expect(asked).toMatchObject({
      responseFormat: { type: "json_schema", name: "place", schema, strict: true },
      stop: ["5"],
      reasoningEffort: "xhigh",
      maxOutputTokens: 7,
    });
    expect(asked.messages[0]?.parts).toMatchObject([
      { type: "text", text: "Look" },
      { type: "image", mimeType: "image/png", base64: "AQID" },
      { type: "text", text: "a.txt\n" },
      { type: "text", text: "in a file" },
      { type: "text", text: expect.stringContaining("b.pdf: a PDF") },
    ]);
    expect(parse({ conversation, modelDetails, responseFormat: '{"type":"json_object"}' })).toMatchObject({
      responseFormat: { type: "json_object" },
    });
  });

  test.each([
    ["response_format", { conversation, modelDetails, responseFormat: "{" }],
    ["stop", { conversation, modelDetails, stop: ["x".repeat(100_000)] }],
    ["model_details.model_name", { conversation }],
    ["conversation", { modelDetails }],
    ["mcp_tools[0].name", { conversation, modelDetails, mcpTools: [{ name: "", parameters: "" }] }],
    ["mcp_tools[0].parameters", { conversation, modelDetails, mcpTools: [{ name: "a", parameters: "{" }] }],
    ["mcp_tools[0].parameters", { conversation, modelDetails, mcpTools: [{ name: "a", parameters: "[]" }] }],
  ])("is refused with the field at fault: %s", (param, chat) => {
    let failure: unknown;
    try {
      parse(chat);
    } catch (error) {
      failure = error;
    }
    expect(failure).toMatchObject({ code: "invalid_request", param });
  });
});

describe("what an original client says and this gateway does not read", () => {
  /** A field of a number that the schema does not have, of three bytes. */
  const unknown = (number: number) => [...varint((number << 3) | 2), 3, 1, 2, 3];
  const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]);
  const chatOf = (chat: MessageInitShape<typeof ChatSchema>, ...numbers: number[]) =>
    fromBinary(
      ChatSchema,
      Uint8Array.of(...toBinary(ChatSchema, create(ChatSchema, chat)), ...numbers.flatMap(unknown)),
    );
  const human = { type: 1, text: "Look" } as const;
  const withFields = (...numbers: number[]) =>
    fromBinary(
      ConversationSchema,
      Uint8Array.of(...toBinary(ConversationSchema, create(ConversationSchema, human)), ...numbers.flatMap(unknown)),
    );
  const modelDetails = { modelName: "m" };

  test("is reported by name, each once, in the order of the fields; used fields are not", () => {
    const plain = { conversation: [human], modelDetails, conversationId: "c", isAgentic: true };
    expect(unreadFields(chatOf(plain))).toEqual([]);
    const more = { conversation: [withFields(18), withFields(18, 99)], modelDetails, supportedTools: [5] };
    expect(unreadFields(chatOf(more, 15, 3, 3, 91))).toEqual([
      "explicit_context",
      "current_file",
      "field 91",
      "supported_tools",
      "conversation[].tool_results",
      "conversation[].field 99",
    ]);
  });

  test("is bounded", () => {
    const numbers = Array.from({ length: 200 }, (_, i) => 2000 + i);
    expect(unreadFields(chatOf({ conversation: [human] }, ...numbers))).toHaveLength(64);
  });

  test("is refused by name where it is a picture: the question is another one without it", () => {
    const chat = chatOf({ conversation: [human, withFields(10)], modelDetails });
    expect(() => parseChat(chat)).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "conversation[1].images" }),
    );
  });

  test("is refused where it is the result of a tool of another kind: the model is shown no empty one", () => {
    const result = (...fields: number[]) =>
      fromBinary(
        ClientMessageSchema,
        toBinary(
          ClientMessageSchema,
          create(ClientMessageSchema, {
            seqno: 1,
            request: {
              case: "clientChunk",
              value: {
                request: {
                  case: "clientSideToolV2Result",
                  value: fromBinary(ResultSchema, Uint8Array.of(0x08, 5, ...fields)),
                },
              },
            },
          }),
        ),
      );
    expect(() => parseMessage(result(...unknown(6)))).toThrow(/field 6/);
    const mcp = [0xe2, 0x01, 4, 0x12, 2, 0x6f, 0x6b]; // mcp_result.result "ok"
    expect(parseMessage(result(...unknown(50), ...mcp)).input).toMatchObject({ type: "tool_result", text: "ok" });
  });

  test("is not thinking: all of its blocks are read where the message has no other", () => {
    const answer = { type: MessageType.AI, text: "Hi", allThinkingBlocks: [{ text: "hm" }, { text: "well" }] };
    const { messages } = parseChat(chatOf({ conversation: [human, answer], modelDetails }));
    expect(messages[1]).toMatchObject({ role: "assistant", thinking: "hm\n\nwell" });
  });
});
