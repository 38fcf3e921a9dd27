import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  ConversationMessage_MessageType as MessageType,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { OutgoingMessage } from "../records/record.ts";

/** The request of a stream: the visible conversation, and the tools that the application runs itself. */
export interface StreamRequest {
  /** Any name that `GET /v1/models` lists. */
  readonly model: string;
  /** The system prompt. */
  readonly system?: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly tools?: readonly {
    readonly name: string;
    readonly description: string;
    /** A JSON Schema of the arguments. */
    readonly parameters: Readonly<Record<string, unknown>>;
  }[];
  /** How much the model may think before it answers; as the model is set otherwise. */
  readonly thinking?: "medium" | "high";
  readonly conversationId?: string;
}

/** A tool's result; `isError` means that the tool failed, and the model gets it as an error. */
export interface ToolResult {
  readonly text: string;
  readonly isError?: boolean;
}

/** The number of "a tool of the client's own" in the protocol's list of tools. Source: docs/stream-protocol.md, "Events". */
const ownTool = 19;
const thinkingLevels = { medium: 1, high: 2 } as const;

/** The first message of a stream, as `Outgoing.payload`. */
export function encodeRequest(request: StreamRequest): string {
  const { model, system, messages, tools = [], thinking, conversationId } = request;
  return encode({
    case: "clientChunk",
    value: {
      request: {
        case: "streamUnifiedChatRequest",
        value: {
          conversation: messages.map(({ role, text }) => ({
            text,
            type: role === "user" ? MessageType.HUMAN : MessageType.AI,
          })),
          modelDetails: { modelName: model },
          isChat: true,
          isAgentic: tools.length > 0,
          conversationId: conversationId ?? "",
          supportedTools: tools.length > 0 ? [ownTool] : [],
          mcpTools: tools.map((tool) => ({ ...tool, parameters: JSON.stringify(tool.parameters) })),
          ...(system === undefined ? {} : { systemPrompt: system }),
          ...(thinking === undefined ? {} : { thinkingLevel: thinkingLevels[thinking] }),
        },
      },
    },
  });
}

/** The result of a call, as `Outgoing.payload`. */
export function encodeToolResult(callId: string, { text, isError = false }: ToolResult): string {
  const outcome = isError ? { error: { modelVisibleErrorMessage: text } } : { mcpResult: { result: text } };
  return encode({
    case: "clientChunk",
    value: {
      request: { case: "clientSideToolV2Result", value: { tool: ownTool, toolCallId: callId, ...outcome } },
    },
  });
}

export const encodeAbort = (): string => encode({ case: "abort", value: {} });
export const encodeClose = (): string => encode({ case: "close", value: {} });

function encode(request: NonNullable<MessageInitShape<typeof ClientMessageSchema>["request"]>): string {
  return base64Encode(toBinary(ClientMessageSchema, create(ClientMessageSchema, { request })));
}

/** A stored message with its number, in the form of the wire. */
export function toWire({ seqno, payload }: OutgoingMessage): ClientMessage {
  const message = fromBinary(ClientMessageSchema, base64Decode(payload));
  message.seqno = seqno;
  return message;
}
