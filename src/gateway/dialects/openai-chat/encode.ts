import type { ErrorRecord } from "../../../base/errors.ts";
import { writeJson } from "../../../base/json.ts";
import { type Answer, type Block, millraceEnd, type ToolCallBlock, textOf } from "../answer.ts";
import { type Dialect, type EncodeContext, type Encoder, toldPlace, type WireEvent, wireId } from "../dialect.ts";
import { encodeOpenAiError } from "../openai-errors.ts";
import { openAiUsage, reportedUsage } from "../openai-usage.ts";
import { stepEncoder } from "../step-encoder.ts";
import { type ChatWire, parseChatRequest } from "./request.ts";

type Delta = Readonly<Record<string, unknown>>;

/** How an API writes the chunks of an answer. */
export interface ChunkForm {
  readonly idPrefix: string;
  readonly object: string;
  /** The delta before any event. */
  first(context: EncodeContext): Delta;
  choice(delta: Delta, reason: string | null): unknown;
}

const chatForm: ChunkForm = {
  idPrefix: "chatcmpl-",
  object: "chat.completion.chunk",
  first: () => ({ role: "assistant", content: "" }),
  choice: (delta, reason) => ({ index: 0, delta, logprobs: null, finish_reason: reason }),
};

/**
 * Chat completion chunks. The role is sent once, first. One chunk carries the finish reason, and usage follows it if the client asked.
 * `[DONE]` is last, and only after a complete answer. Source: docs/dev/wire/requirements.json.
 *
 * Text that was sent cannot be taken back when the upstream rewrites it. If the new text continues the old one, the rest is sent.
 * Otherwise the chunk carries `millrace: { rewritten: <the whole text after this chunk> }`, and its delta holds the text that makes
 * the end complete. A client that knows the member replaces its text; another client shows some text twice.
 */
export function chatEncoder(context: EncodeContext, form: ChunkForm): Encoder {
  const { includeUsage } = context.parsed.wire as ChatWire; // set by this dialect's own parser
  const members = headOf(context, form);
  const chunk = (delta: Delta, finishReason: string | null = null, extension: Delta = {}): WireEvent => {
    const choices = [form.choice(delta, finishReason)];
    const usage = includeUsage ? { usage: null } : {};
    return { data: writeJson({ ...members, choices, ...usage, ...extension }) };
  };
  return stepEncoder(context, {
    begin: () => [chunk(form.first(context))],
    open: (block) => (block.kind === "tool_call" ? [chunk({ tool_calls: [openCall(block)] })] : []),
    delta: (block, delta) => [chunk(deltaOf(block, delta))],
    rewritten: (_block, content, rewritten) => [chunk({ content }, null, { millrace: { rewritten } })],
    finished(end, answer) {
      const last = chunk({}, end.reason.unified, millraceEnd(end));
      const done = { data: "[DONE]" };
      if (!includeUsage) return [last, done];
      const usage = openAiUsage(reportedUsage(answer, context));
      return [last, { data: writeJson({ ...members, choices: [], usage }) }, done];
    },
    heartbeat: (waiting) => [chunk({}, null, toldPlace(waiting))],
    failed: (error) => [encodeStreamError(error, context.requestId)],
  });
}

/** A finished answer as one `chat.completion`. */
function encodeChatAnswer(context: EncodeContext, answer: Answer): unknown {
  const text = textOf(answer.blocks);
  const thinking = textOf(answer.blocks, "thinking");
  const calls = answer.blocks.filter((block) => block.kind === "tool_call");
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(wholeCall) }),
  };
  const reason = answer.end?.type === "finished" ? answer.end.reason.unified : "stop";
  return {
    ...headOf(context, { ...chatForm, object: "chat.completion" }),
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
    usage: openAiUsage(reportedUsage(answer, context)),
    ...millraceEnd(answer.end),
  };
}

export function headOf(context: EncodeContext, { idPrefix, object }: Pick<ChunkForm, "idPrefix" | "object">): Delta {
  return {
    id: wireId(idPrefix, context.turnId),
    object,
    created: Math.floor(context.createdAtMs / 1000),
    model: context.parsed.request.model,
    system_fingerprint: "fp_millrace",
  };
}

function deltaOf(block: Block, delta: string): Delta {
  if (block.kind === "text") return { content: delta };
  if (block.kind === "thinking") return { reasoning_content: delta };
  const grown = block.freeform ? { custom: { input: delta } } : { function: { arguments: delta } };
  return { tool_calls: [{ index: block.callIndex, ...grown }] };
}

function openCall(block: ToolCallBlock): Delta {
  const base = { index: block.callIndex, id: block.callId };
  if (block.freeform) return { ...base, type: "custom", custom: { name: block.name, input: "" } };
  return { ...base, type: "function", function: { name: block.name, arguments: "" } };
}

function wholeCall(block: ToolCallBlock): Delta {
  if (block.freeform) return { id: block.callId, type: "custom", custom: { name: block.name, input: block.arguments } };
  return { id: block.callId, type: "function", function: { name: block.name, arguments: block.arguments } };
}

/**
 * An error in the middle of a stream: the SDKs throw on a member `error`. No `[DONE]` follows, since the answer is not
 * complete. Source: docs/dev/wire/requirements.json.
 */
export function encodeStreamError(error: ErrorRecord, requestId: string): WireEvent {
  return { data: writeJson(encodeOpenAiError(error, requestId).body) };
}

/** OpenAI Chat Completions: `POST /v1/chat/completions`. */
export const openAiChat: Dialect = {
  name: "openai-chat",
  hasIdsForResuming: true,
  parse: parseChatRequest,
  encoder: (context) => chatEncoder(context, chatForm),
  encodeAnswer: encodeChatAnswer,
  encodeError: encodeOpenAiError,
};
