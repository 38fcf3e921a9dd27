import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema,
  type ClientSideToolV2ResultSchema,
  ConversationMessage_MessageType as MessageType,
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamEnd_Outcome,
} from "../proto/aiserver/v1/chat_pb.ts";
import type { EventKind } from "./decide.ts";
import { fromBase64, type Outgoing, toBase64 } from "./record.ts";

/** What a stream asks: the visible conversation and the tools that the application runs itself. */
export interface StreamRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly tools?: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  }[];
  readonly conversationId?: string;
}

/** The number of "a tool of the client's own" in the protocol's list of tools. Source: facts, A3.8. */
const ownTool = 19;

/** What happens in a stream, as the application sees it. Every event has an id; ids grow. */
export type StreamEvent =
  | { readonly type: "text" | "thinking"; readonly delta: string; readonly eventId: string }
  /** The upstream rewrote text already sent: the whole text as it now stands. */
  | { readonly type: "rewritten"; readonly text: string; readonly eventId: string }
  /**
   * Run this tool and give its result. `again`: an earlier life of the application was handed this very call and never
   * gave its result, so whether it ran is unknown; do not run it blindly if it must not run twice.
   */
  | {
      readonly type: "tool_call";
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
      readonly again: boolean;
      readonly eventId: string;
    }
  | {
      readonly type: "end";
      readonly outcome: "finished" | "failed" | "cancelled";
      /** Why it finished: stop, length, tool_calls, content_filter. */
      readonly reason: string;
      /** The final text where text already sent was rewritten. */
      readonly text: string | undefined;
      readonly errorCode: string | undefined;
      readonly errorMessage: string | undefined;
      readonly promptTokens: number | undefined;
      readonly completionTokens: number | undefined;
      readonly eventId: string;
    };

export function encodeRequest(request: StreamRequest): string {
  return encode({
    case: "clientChunk",
    value: {
      request: {
        case: "streamUnifiedChatRequest",
        value: {
          conversation: request.messages.map(({ role, text }) => ({
            text,
            type: role === "user" ? MessageType.HUMAN : MessageType.AI,
          })),
          modelDetails: { modelName: request.model },
          isChat: true,
          isAgentic: (request.tools ?? []).length > 0,
          conversationId: request.conversationId ?? "",
          supportedTools: (request.tools ?? []).length > 0 ? [ownTool] : [],
          mcpTools: (request.tools ?? []).map((tool) => ({ ...tool, parameters: JSON.stringify(tool.parameters) })),
        },
      },
    },
  });
}

export function encodeToolResult(callId: string, result: { readonly text: string; readonly isError: boolean }): string {
  const outcome = result.isError
    ? { error: { modelVisibleErrorMessage: result.text } }
    : { mcpResult: { result: result.text } };
  const value: { tool: number; toolCallId: string } & Parameters<
    typeof create<typeof ClientSideToolV2ResultSchema>
  >[1] = { tool: ownTool, toolCallId: callId, ...outcome };
  return encode({ case: "clientChunk", value: { request: { case: "clientSideToolV2Result", value } } });
}

export const encodeAbort = (): string => encode({ case: "abort", value: {} });
export const encodeClose = (): string => encode({ case: "close", value: {} });

type Body = NonNullable<Parameters<typeof create<typeof ClientMessageSchema>>[1]>["request"];

function encode(request: Body): string {
  return toBase64(toBinary(ClientMessageSchema, create(ClientMessageSchema, request === undefined ? {} : { request })));
}

/** A stored message with its number, as it goes on the wire. */
export function toWire({ seqno, payload }: Outgoing): ClientMessage {
  const message = fromBinary(ClientMessageSchema, fromBase64(payload));
  message.seqno = seqno;
  return message;
}

/** What the algorithm needs to know of an event. */
export function kindOf(chunk: ServerChunk): EventKind {
  if (chunk.streamEnd !== undefined) return { kind: "end" };
  const { response } = chunk;
  if (response.case === "clientSideToolV2Call")
    return { kind: "tool_call", callId: response.value.toolCallId, complete: true };
  if (response.case !== "streamUnifiedChatResponse") return { kind: "start" };
  if (response.value.rewrittenText !== undefined) return { kind: "rewritten" };
  return { kind: response.value.thinking === undefined ? "text" : "thinking" };
}

const outcomes: Readonly<Record<StreamEnd_Outcome, "finished" | "failed" | "cancelled">> = {
  [StreamEnd_Outcome.UNSPECIFIED]: "failed",
  [StreamEnd_Outcome.FINISHED]: "finished",
  [StreamEnd_Outcome.FAILED]: "failed",
  [StreamEnd_Outcome.CANCELLED]: "cancelled",
};

/** The event for the application; undefined for one that only moves the cursor. */
export function toStreamEvent(chunk: ServerChunk, again: boolean): StreamEvent | undefined {
  const { eventId, response, streamEnd } = chunk;
  if (streamEnd !== undefined) {
    const { outcome, reason, text, errorCode, errorMessage, promptTokens, completionTokens } = streamEnd;
    return {
      type: "end",
      outcome: outcomes[outcome] ?? "failed",
      reason,
      text,
      errorCode: errorCode || undefined,
      errorMessage: errorMessage || undefined,
      promptTokens,
      completionTokens,
      eventId,
    };
  }
  if (response.case === "clientSideToolV2Call") {
    const { toolCallId: callId, name, rawArgs } = response.value;
    return { type: "tool_call", callId, name, arguments: rawArgs, again, eventId };
  }
  if (response.case !== "streamUnifiedChatResponse") return undefined;
  const { text, thinking, rewrittenText } = response.value;
  if (rewrittenText !== undefined) return { type: "rewritten", text: rewrittenText, eventId };
  if (thinking !== undefined) return { type: "thinking", delta: thinking.text, eventId };
  return text === "" ? undefined : { type: "text", delta: text, eventId };
}
