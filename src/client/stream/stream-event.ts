import { base64Encode } from "@bufbuild/protobuf/wire";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamEnd_Outcome,
} from "../../proto/aiserver/v1/chat_pb.ts";
import type { CallOutcome, ReceivedEvent } from "./stream-state.ts";

/** A call that the model makes of a tool of the application. */
export interface ToolCallEvent {
  readonly type: "tool_call";
  readonly callId: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /**
   * `new`: run it. `unknown`: an earlier life of the application started it and never gave its result, so it may have run.
   * `finished`: its result was given in an earlier life, and it is only shown again.
   */
  readonly state: CallOutcome;
  readonly eventId: string;
}

/** How a stream ended. */
export interface EndEvent {
  readonly type: "end";
  readonly outcome: "finished" | "failed" | "cancelled";
  /** Why it finished (stop, length, tool_calls, content_filter), or who cancelled it. */
  readonly reason: string;
  /** The whole last answer where text already sent was rewritten. */
  readonly text: string | undefined;
  /** For a failure: an error code of the gateway's HTTP API, and the cause. */
  readonly errorCode: string | undefined;
  readonly errorMessage: string | undefined;
  /** The user's next step. */
  readonly errorHint: string | undefined;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  readonly eventId: string;
}

/** An event of a stream, for the application. Ids grow; an application that keeps the last one can go on from it. */
export type StreamEvent =
  /** The model has the prompt. */
  | { readonly type: "started"; readonly eventId: string }
  | { readonly type: "text" | "thinking"; readonly delta: string; readonly eventId: string }
  /** The model rewrote text already sent: the whole text of this answer as it now reads, and the text left to append if shown text cannot be replaced. */
  | { readonly type: "rewritten"; readonly text: string; readonly delta: string; readonly eventId: string }
  | ToolCallEvent
  | EndEvent;

/** The part of an event that the algorithm needs. */
export function eventKind({ streamEnd, response }: ServerChunk): ReceivedEvent["event"] {
  if (streamEnd !== undefined)
    return { kind: "end", countBefore: streamEnd.eventCount, chainBefore: base64Encode(streamEnd.chainDigest) };
  if (response.case === "clientSideToolV2Call") return { kind: "tool_call", callId: response.value.toolCallId };
  return { kind: "content" };
}

const outcomes: Readonly<Record<StreamEnd_Outcome, EndEvent["outcome"]>> = {
  [StreamEnd_Outcome.UNSPECIFIED]: "failed",
  [StreamEnd_Outcome.FINISHED]: "finished",
  [StreamEnd_Outcome.FAILED]: "failed",
  [StreamEnd_Outcome.CANCELLED]: "cancelled",
};

/** The event for the application; undefined for one that only moves the cursor. */
export function toStreamEvent(
  { eventId, response, streamEnd }: ServerChunk,
  state: CallOutcome,
): StreamEvent | undefined {
  if (streamEnd !== undefined) {
    const { outcome, reason, text, errorCode, errorMessage, errorHint, promptTokens, completionTokens } = streamEnd;
    return {
      type: "end",
      outcome: outcomes[outcome] ?? "failed",
      reason,
      text,
      errorCode: errorCode || undefined,
      errorMessage: errorMessage || undefined,
      errorHint: errorHint || undefined,
      promptTokens,
      completionTokens,
      eventId,
    };
  }
  if (response.case === "streamStart") return { type: "started", eventId };
  if (response.case === "clientSideToolV2Call") {
    const { toolCallId: callId, name, rawArgs } = response.value;
    return { type: "tool_call", callId, name, arguments: rawArgs, state, eventId };
  }
  if (response.case !== "streamUnifiedChatResponse") return undefined;
  const { text, thinking, rewrittenText } = response.value;
  if (rewrittenText !== undefined) return { type: "rewritten", text: rewrittenText, delta: text, eventId };
  if (thinking !== undefined) return { type: "thinking", delta: thinking.text, eventId };
  return text === "" ? undefined : { type: "text", delta: text, eventId };
}
