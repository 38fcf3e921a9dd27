import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { MillraceError } from "../../../base/errors.ts";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  type ClientSideToolV2Result,
  type StreamUnifiedChatRequest,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { refuseForeignResult } from "./unread.ts";

/** One message of a client: the request, the result of a call, its wish to end, or the end of its messages. */
export type ClientInput =
  | { readonly type: "request"; readonly chat: StreamUnifiedChatRequest }
  | ({ readonly type: "tool_result" } & ToolResult)
  | { readonly type: "close" | "abort" };

export interface ToolResult {
  readonly callId: string;
  readonly text: string;
  readonly isError: boolean;
}

export interface ParsedMessage {
  /** Absent where an original client closes or aborts. */
  readonly seqno: number | undefined;
  readonly input: ClientInput;
  /** The message without its number. It is stored, and a repetition must equal it. Unknown fields are kept. */
  readonly payload: Uint8Array;
}

/**
 * @throws MillraceError `invalid_request` for an empty message, a result that cannot be read, and a chunk without a number.
 * Source: docs/dev/wire/idempotent-streams.md, "Messages".
 */
export function parseMessage(message: ClientMessage): ParsedMessage {
  const input = inputOf(message);
  const { seqno } = message;
  if (seqno === undefined && (input.type === "request" || input.type === "tool_result")) {
    throw new MillraceError("invalid_request", "A chunk without a number cannot be acknowledged.", {
      param: "seqno",
      hint: "Number the messages of a stream from 0.",
    });
  }
  const { seqno: _seqno, idempotencyKey: _key, ...content } = message;
  return { seqno, input, payload: toBinary(ClientMessageSchema, create(ClientMessageSchema, content)) };
}

/** Decodes a stored payload. */
export function readPayload(payload: Uint8Array): ClientInput {
  return inputOf(fromBinary(ClientMessageSchema, payload));
}

function inputOf({ request }: ClientMessage): ClientInput {
  if (request.case === "abort" || request.case === "close") return { type: request.case };
  const chunk = request.case === "clientChunk" ? request.value.request : undefined;
  if (chunk?.case === "streamUnifiedChatRequest") return { type: "request", chat: chunk.value };
  if (chunk?.case === "clientSideToolV2Result") return { type: "tool_result", ...resultOf(chunk.value) };
  throw new MillraceError("invalid_request", "The message has no content that this gateway knows.", {
    hint: "Send a chat request, a tool's result, `close` or `abort`.",
  });
}

function resultOf(result: ClientSideToolV2Result): ToolResult {
  refuseForeignResult(result);
  const { toolCallId, error, mcpResult } = result;
  if (error === undefined) return { callId: toolCallId, text: mcpResult?.result ?? "", isError: false };
  const { modelVisibleErrorMessage, clientVisibleErrorMessage } = error;
  return { callId: toolCallId, text: modelVisibleErrorMessage || clientVisibleErrorMessage, isError: true };
}
