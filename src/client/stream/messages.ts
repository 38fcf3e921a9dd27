import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import type { Effort } from "../../base/effort.ts";
import { MillraceError } from "../../base/errors.ts";
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
  readonly messages: readonly {
    readonly role: "user" | "assistant";
    readonly text: string;
    /** What a user's message comes with: pictures, PDFs, texts. */
    readonly files?: readonly StreamFile[];
  }[];
  readonly tools?: readonly {
    readonly name: string;
    readonly description: string;
    /** A JSON Schema of the arguments. */
    readonly parameters: Readonly<Record<string, unknown>>;
  }[];
  /** JSON as the answer, also by a JSON Schema; text otherwise. */
  readonly format?: "json" | { readonly schema: Readonly<Record<string, unknown>>; readonly name?: string };
  /** The answer ends before the first of these texts. */
  readonly stop?: readonly string[];
  /** How much the model may think before it answers; as the model is set otherwise. */
  readonly effort?: Effort;
  readonly maxOutputTokens?: number;
  readonly conversationId?: string;
}

export interface StreamFile {
  /** `image/png`, `application/pdf`, `text/plain`. */
  readonly mimeType: string;
  readonly data: Uint8Array;
  readonly name?: string;
}

/** A tool's result; `isError` means that the tool failed, and the model gets it as an error. */
export interface ToolResult {
  readonly text: string;
  readonly isError?: boolean;
}

/** The number of "a tool of the client's own" in the protocol's list of tools. Source: docs/stream-protocol.md, "Events". */
const ownTool = 19;

/** Programs without types write messages as other APIs have them. */
function checkMessages(messages: readonly { readonly role: unknown; readonly text: unknown }[]): void {
  for (const [i, { role, text }] of messages.entries()) {
    const is = (member: string, what: string, hint: string) =>
      new MillraceError("invalid_request", `messages[${i}].${member}: It must be ${what}.`, { hint });
    if (role !== "user" && role !== "assistant")
      throw is("role", "`user` or `assistant`", "The system prompt is the request's `system`.");
    if (typeof text !== "string") throw is("text", "a text", 'Write `{ role: "user", text: "…" }`.');
  }
}

/** The first message of a stream, as `Outgoing.payload`. @throws MillraceError `invalid_request` for a message of another form. */
export function encodeRequest(request: StreamRequest): string {
  checkMessages(request.messages);
  const { model, system, messages, tools = [], format, stop = [], effort, maxOutputTokens } = request;
  return encode({
    case: "clientChunk",
    value: {
      request: {
        case: "streamUnifiedChatRequest",
        value: {
          conversation: messages.map(({ role, text, files = [] }) => ({
            text,
            type: role === "user" ? MessageType.HUMAN : MessageType.AI,
            files: files.map(({ mimeType, data, name = "" }) => ({ mimeType, data: Uint8Array.from(data), name })),
          })),
          modelDetails: { modelName: model },
          isChat: true,
          isAgentic: tools.length > 0,
          conversationId: request.conversationId ?? "",
          supportedTools: tools.length > 0 ? [ownTool] : [],
          mcpTools: tools.map((tool) => ({ ...tool, parameters: JSON.stringify(tool.parameters) })),
          ...(system === undefined ? {} : { systemPrompt: system }),
          stop: [...stop],
          ...(format === undefined ? {} : { responseFormat: JSON.stringify(wireFormat(format)) }),
          ...(effort === undefined ? {} : { reasoningEffort: effort }),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        },
      },
    },
  });
}

function wireFormat(format: NonNullable<StreamRequest["format"]>): unknown {
  return format === "json"
    ? { type: "json_object" }
    : { type: "json_schema", json_schema: { name: "answer", ...format } };
}

/** The result of a call, as `Outgoing.payload`. */
export function encodeToolResult(callId: string, { text, isError = false }: ToolResult): string {
  const outcome = isError ? { error: { modelVisibleErrorMessage: text } } : { mcpResult: { result: text } };
  const value = { tool: ownTool, toolCallId: callId, ...outcome };
  return encode({ case: "clientChunk", value: { request: { case: "clientSideToolV2Result", value } } });
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
