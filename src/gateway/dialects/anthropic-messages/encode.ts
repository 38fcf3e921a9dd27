import { type JsonObject, writeJson } from "../../../base/json.ts";
import type { Usage } from "../../../log/event.ts";
import type { TurnRequest } from "../../../log/request.ts";
import { type Answer, type AnswerEnd, argumentsObject, type Block, millraceEnd } from "../answer.ts";
import { type Dialect, type EncodeContext, type Encoder, toldPlace, type WireEvent, wireId } from "../dialect.ts";
import { millraceUsage, reportedUsage } from "../openai-usage.ts";
import { stepEncoder } from "../step-encoder.ts";
import { encodeAnthropicError } from "./errors.ts";
import { parseMessagesRequest } from "./request.ts";

/**
 * Message events: `message_start`, blocks one after the other, `message_delta`, `message_stop`. Thinking comes without a
 * signature, because only the vendor can sign. Source: docs/dev/wire/clients.md, "Messages".
 *
 * A rewrite is sent as in Chat Completions: the text delta's event carries `millrace: { rewritten: <whole text> }`.
 */
function messagesEncoder(context: EncodeContext): Encoder {
  const change = (index: number, delta: JsonObject, more: JsonObject = {}) => [
    write({ type: "content_block_delta", index, delta, ...more }),
  ];
  return stepEncoder(context, {
    begin: () => [write({ type: "message_start", message: emptyMessage(context) })],
    open: (block) => [write({ type: "content_block_start", index: block.index, content_block: emptyBlock(block) })],
    delta: (block, delta) => change(block.index, deltaOf(block, delta)),
    rewritten: ({ index }, text, rewritten) => change(index, { type: "text_delta", text }, { millrace: { rewritten } }),
    close: ({ index }) => [write({ type: "content_block_stop", index })],
    finished(end, answer) {
      const usage = finalUsage(reportedUsage(answer, context));
      const delta = { ...stopOf(end, context.parsed.request), container: null };
      return [write({ type: "message_delta", delta, usage, ...millraceEnd(end) }), write({ type: "message_stop" })];
    },
    heartbeat: (waiting) => [write({ type: "ping", ...toldPlace(waiting) })],
    failed: (error) => [write(encodeAnthropicError(error, context.requestId).body)],
  });
}

function emptyMessage(context: EncodeContext): JsonObject {
  const { promptTokens } = context;
  const usage: Usage = { promptTokens, completionTokens: 1, thinkingTokens: 0, estimated: true };
  return {
    ...head(context),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: { ...usageBody(usage), ...tierBody },
  };
}

function encodeMessage(context: EncodeContext, answer: Answer): unknown {
  const usage = finalUsage(reportedUsage(answer, context));
  return {
    ...head(context),
    content: answer.blocks.filter((block) => block.kind === "tool_call" || block.text !== "").map(wholeBlock),
    ...stopOf(answer.end, context.parsed.request),
    usage: { ...usage, ...tierBody },
    ...millraceEnd(answer.end),
  };
}

function head(context: EncodeContext): JsonObject {
  const { model } = context.parsed.wire as ReturnType<typeof parseMessagesRequest>["wire"]; // set by this dialect's own parser
  return {
    id: wireId("msg_", context.turnId),
    type: "message",
    role: "assistant",
    model,
    container: null,
    diagnostics: null,
  };
}

/** Input tokens are what the cache did not have; the client adds the three. Never 0: clients take that for "unknown". */
function usageBody(usage: Usage): JsonObject {
  const cached = usage.cachedPromptTokens ?? 0;
  return {
    input_tokens: Math.max(1, usage.promptTokens - cached),
    output_tokens: usage.completionTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens_details: { thinking_tokens: usage.thinkingTokens },
    server_tool_use: null,
  };
}

/** Members of a message's usage that nothing here can fill. */
const tierBody = { cache_creation: null, inference_geo: null, service_tier: "standard", speed: null };

function finalUsage(usage: Usage): JsonObject {
  return { ...usageBody(usage), ...millraceUsage(usage) };
}

function stopOf(end: AnswerEnd | undefined, request: TurnRequest): JsonObject {
  const reason = end?.type === "finished" ? end.reason : undefined;
  const atSequence = reason?.unified === "stop" && reason.raw !== undefined && request.stop.includes(reason.raw);
  if (atSequence) return { stop_reason: "stop_sequence", stop_sequence: reason.raw, stop_details: null };
  const names = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" } as const;
  return { stop_reason: names[reason?.unified ?? "stop"], stop_sequence: null, stop_details: null };
}

function emptyBlock(block: Block): JsonObject {
  if (block.kind === "tool_call") return { ...wholeBlock(block), input: {} };
  return wholeBlock({ ...block, text: "" });
}

function deltaOf(block: Block, delta: string): JsonObject {
  if (block.kind === "text") return { type: "text_delta", text: delta };
  if (block.kind === "thinking") return { type: "thinking_delta", thinking: delta };
  return { type: "input_json_delta", partial_json: delta };
}

function wholeBlock(block: Block): JsonObject {
  if (block.kind === "text") return { type: "text", text: block.text }; // the AI SDK 5 and 6 refuse `citations: null`
  if (block.kind === "thinking") return { type: "thinking", thinking: block.text, signature: "" };
  const input = argumentsObject(block.arguments);
  return { type: "tool_use", id: block.callId, name: block.name, input, caller: { type: "direct" } };
}

function write(event: JsonObject): WireEvent {
  return { name: String(event.type), data: writeJson(event) };
}

/** Anthropic Messages: `POST /v1/messages`. */
export const anthropicMessages: Dialect = {
  name: "anthropic-messages",
  parse: parseMessagesRequest,
  encoder: messagesEncoder,
  encodeAnswer: encodeMessage,
  encodeError: encodeAnthropicError,
};
