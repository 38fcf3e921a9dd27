import type { ErrorRecord } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { Usage } from "../../../log/event.ts";
import { type Answer, type Block, millraceEnd, textOf } from "../answer.ts";
import { type EncodeContext, wireId } from "../dialect.ts";
import { failureOf } from "../errors.ts";
import { encodeOpenAiError } from "../openai-errors.ts";
import { millraceUsage, reportedUsage } from "../openai-usage.ts";
import { packNotes } from "./input.ts";
import type { ResponsesWire } from "./request.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** The prefix of every response id. */
export const responsePrefix = "resp_";

/** The `response` object of an answer as far as it goes. */
export function responseObject(context: EncodeContext, answer: Answer): JsonObject {
  const wire = context.parsed.wire as ResponsesWire; // set by this dialect's own parser
  const { status, error, incomplete } = outcomeOf(answer, context.requestId);
  const ended = answer.end !== undefined;
  return {
    id: wireId(responsePrefix, context.turnId),
    object: "response",
    access_programs: null,
    created_at: Math.floor(context.createdAtMs / 1000),
    status,
    completed_at: status === "completed" && answer.endedAtMs !== undefined ? Math.floor(answer.endedAtMs / 1000) : null,
    background: wire.background,
    conversation: null,
    error,
    frequency_penalty: 0,
    incomplete_details: incomplete,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    model: context.parsed.request.model,
    output: outputOf(context, answer),
    parallel_tool_calls: context.parsed.request.parallelToolCalls,
    presence_penalty: 0,
    previous_response_id: wire.previousResponseId,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: wire.store,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage: ended ? usageBody(reportedUsage(answer, context)) : null,
    ...wholeEcho(wire.echo),
    ...millraceEnd(answer.end),
  };
}

/** The items of an answer. That of a compaction is one, once its notes are whole. */
function outputOf(context: EncodeContext, answer: Answer): readonly JsonObject[] {
  const { compacts } = context.parsed.wire as ResponsesWire; // as above
  if (compacts !== true) return answer.blocks.map((block) => itemOf(context, block, itemStatus(answer, block)));
  return compactionItems(context, answer);
}

/** The item that stands for a conversation, once its notes are whole; a later request brings it back. */
export function compactionItems({ turnId }: EncodeContext, { blocks, end }: Answer): readonly JsonObject[] {
  const notes = textOf(blocks);
  if (end?.type !== "finished" || notes === "") return [];
  return [{ id: wireId("cmp_", turnId), type: "compaction", encrypted_content: packNotes(notes) }];
}

/** What the client said of the answer, with the members that it left out and that readers of the response expect. */
function wholeEcho({ tools, text, reasoning, ...echo }: JsonObject): JsonObject {
  const wholeTool = (tool: unknown) =>
    isObject(tool) && tool.type === "function" ? { description: null, parameters: null, strict: null, ...tool } : tool;
  return {
    ...echo,
    ...(Array.isArray(tools) ? { tools: tools.map(wholeTool) } : {}),
    ...(isObject(text) ? { text: { format: { type: "text" }, verbosity: "medium", ...text } } : {}),
    ...(isObject(reasoning) ? { reasoning: { effort: null, summary: null, ...reasoning } } : {}),
  };
}

/** One block as an output item. Its id is made from the turn's, so that it is the same for every reader. */
export function itemOf(context: EncodeContext, block: Block, status: ItemStatus): JsonObject {
  const id = itemId(context, block);
  if (block.kind === "text") return { id, type: "message", status, role: "assistant", content: [textPart(block.text)] };
  if (block.kind === "thinking") {
    return { id, type: "reasoning", status, summary: block.text === "" ? [] : [summaryPart(block.text)] };
  }
  const { namespaced } = context.parsed.wire as ResponsesWire; // as above
  const named = namespaced[block.name] ?? { name: block.name };
  const call = { id, status, call_id: block.callId, ...named };
  if (block.freeform) return { ...call, type: "custom_tool_call", input: block.arguments };
  return { ...call, type: "function_call", arguments: block.arguments };
}

export function itemId(context: EncodeContext, block: Block): string {
  const prefix = { text: "msg_", thinking: "rs_", tool_call: "" }[block.kind];
  const own = prefix === "" && block.kind === "tool_call" ? (block.freeform ? "ctc_" : "fc_") : prefix;
  return `${wireId(own, context.turnId)}_${block.index}`;
}

export function textPart(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

export function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

/** The last block of an unfinished answer is not complete either. */
function itemStatus(answer: Answer, block: Block): ItemStatus {
  if (block !== answer.blocks.at(-1)) return "completed";
  if (answer.end === undefined) return "in_progress";
  const whole = answer.end.type === "finished" && answer.end.reason.unified !== "length";
  return whole || (block.kind === "tool_call" && answer.end.type === "finished") ? "completed" : "incomplete";
}

function outcomeOf(answer: Answer, requestId: string) {
  const { end } = answer;
  if (end === undefined)
    return { status: answer.blocks.length === 0 ? "queued" : "in_progress", error: null, incomplete: null };
  if (end.type !== "finished") return { status: end.type, error: errorOf(failureOf(end), requestId), incomplete: null };
  const cut = { length: "max_output_tokens", content_filter: "content_filter", stop: null, tool_calls: null } as const;
  const reason = cut[end.reason.unified];
  return reason === null
    ? { status: "completed", error: null, incomplete: null }
    : { status: "incomplete", error: null, incomplete: { reason } };
}

function errorOf(error: ErrorRecord, requestId: string): JsonObject {
  const { code, message, ...more } = encodeOpenAiError(error, requestId).body.error;
  return { code, message, ...more };
}

function usageBody(usage: Usage): JsonObject {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cache_write_tokens: 0, cached_tokens: usage.cachedPromptTokens ?? 0 },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.thinkingTokens },
    total_tokens: usage.promptTokens + usage.completionTokens,
    ...millraceUsage(usage),
  };
}
