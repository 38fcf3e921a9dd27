import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventIdOf } from "../../../log/event-id.ts";
import { StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema } from "../../../proto/aiserver/v1/chat_pb.ts";
import { parseMessage, readPayload } from "./client-message.ts";
import { chunkId, endId, parseCursor } from "./event-id.ts";
import { parseChat } from "./request.ts";

const bytes = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");
const read = (hex: string) => parseMessage(fromBinary(ClientMessageSchema, bytes(hex)));

describe("ids of chunks", () => {
  const place = fc.tuple(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1e9 }), fc.nat({ max: 300 }));
  const idOf = ([segment, seq, part]: readonly [number, number, number]) => chunkId(segment, eventIdOf(seq), part);

  test("sort as text the way chunks follow each other, and are cursors (P4)", () => {
    fc.assert(
      fc.property(place, place, (a, b) => {
        const order = a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
        const [x, y] = [idOf(a), idOf(b)];
        expect(Math.sign(order)).toBe(x < y ? -1 : x > y ? 1 : 0);
        expect(parseCursor(x)).toBe(x);
        expect(x > "0" && x < endId(a[0])).toBe(true);
        expect(endId(a[0]) < y).toBe(b[0] > a[0]);
      }),
    );
  });

  test.each(["", "1", "a0.a1", "a1", "a1.", "a1.a1.a1.a1", "a1.a1 ", "A1.a1"])("no cursor is made of %j", (text) => {
    expect(() => parseCursor(text)).toThrow(/not an event id/);
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
  const parse = (chat: object) =>
    parseChat({ conversation: [], mcpTools: [], ...chat } as unknown as Parameters<typeof parseChat>[0]);
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

  test.each([
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
