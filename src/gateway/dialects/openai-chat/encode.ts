import type { ErrorRecord } from "../../../base/errors.ts";
import type { FinishReason, TurnEvent } from "../../../log/event.ts";
import { type Answer, AnswerFold, type AnswerStep, type Block, millraceEnd, type ToolCallBlock } from "../answer.ts";
import { cancelledError } from "../cancelled.ts";
import type { EncodeContext, Encoder, WireEvent } from "../dialect.ts";
import { openAiUsage, reportedUsage } from "../openai-usage.ts";
import { wireId } from "../wire-id.ts";
import { encodeStreamError } from "./errors.ts";
import type { ChatWire } from "./request.ts";

type Delta = Readonly<Record<string, unknown>>;

/**
 * Chat completion chunks. The role is sent once, first. One chunk carries the finish reason, and usage follows it if the client asked.
 * `[DONE]` is last, and only after a complete answer. Source: docs/wire/clients.md, "Chat Completions".
 *
 * Text that was sent cannot be taken back when the upstream rewrites it. If the new text continues the old one, the rest is sent.
 * Otherwise the chunk carries `millrace: { rewritten: <the whole text after this chunk> }`, and its delta holds the text that makes
 * the end complete. A client that knows the member replaces its text; another client shows some text twice.
 */
export class ChatEncoder implements Encoder {
  readonly #context: EncodeContext;
  readonly #fold: AnswerFold;
  readonly #includeUsage: boolean;
  readonly #head: Delta;

  constructor(context: EncodeContext) {
    this.#context = context;
    this.#fold = new AnswerFold(context.parsed.request);
    this.#includeUsage = (context.parsed.wire as ChatWire).includeUsage; // set by this dialect's own parser
    this.#head = { ...head(context, "chat.completion.chunk") };
  }

  open(): readonly WireEvent[] {
    return [this.#chunk({ role: "assistant", content: "" })];
  }

  encode(event: TurnEvent): readonly WireEvent[] {
    return this.#fold.push(event).flatMap((step) => this.#step(step));
  }

  heartbeat(): readonly WireEvent[] {
    return [this.#chunk({})];
  }

  broken(error: ErrorRecord): readonly WireEvent[] {
    return [encodeStreamError(error, this.#context.requestId)];
  }

  #step(step: AnswerStep): readonly WireEvent[] {
    switch (step.type) {
      case "open":
        return step.block.kind === "tool_call" ? [this.#chunk({ tool_calls: [openCall(step.block)] })] : [];
      case "delta":
        return [this.#chunk(deltaOf(step.block, step.delta))];
      case "rewritten":
        return [this.#chunk({ content: step.delta }, null, { millrace: { rewritten: step.text } })];
      case "close":
        return [];
      case "end":
        if (step.end.type === "failed") return this.broken(step.end.error);
        if (step.end.type === "cancelled") return this.broken(cancelledError(step.end.by));
        return this.#finish(step.end.reason, millraceEnd(step.end));
      default:
        return step satisfies never;
    }
  }

  #finish(reason: FinishReason, extension: Delta): readonly WireEvent[] {
    const finish = this.#chunk({}, reason.unified, extension);
    const done = { data: "[DONE]" };
    if (!this.#includeUsage) return [finish, done];
    const usage = openAiUsage(reportedUsage(this.#fold.answer, this.#context));
    return [finish, { data: JSON.stringify({ ...this.#head, choices: [], usage }) }, done];
  }

  #chunk(delta: Delta, finishReason: string | null = null, extension: Delta = {}): WireEvent {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    const usage = this.#includeUsage ? { usage: null } : {};
    return { data: JSON.stringify({ ...this.#head, choices, ...usage, ...extension }) };
  }
}

/** A finished answer as one `chat.completion`. */
export function encodeChatAnswer(context: EncodeContext, answer: Answer): unknown {
  const text = joined(answer, "text");
  const thinking = joined(answer, "thinking");
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
    ...head(context, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
    usage: openAiUsage(reportedUsage(answer, context)),
    ...millraceEnd(answer.end),
  };
}

function head(context: EncodeContext, object: string): Delta {
  return {
    id: wireId("chatcmpl-", context.turnId),
    object,
    created: Math.floor(context.createdAtMs / 1000),
    model: context.parsed.request.model,
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

function joined(answer: Answer, kind: "text" | "thinking"): string {
  let text = "";
  for (const block of answer.blocks) if (block.kind === kind) text += block.text;
  return text;
}
