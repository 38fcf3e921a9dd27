import type { ErrorRecord } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { TurnEvent } from "../../../log/event.ts";
import { type Answer, AnswerFold, type AnswerStep, millraceEnd } from "../answer.ts";
import { cancelledError } from "../cancelled.ts";
import type { EncodeContext, Encoder, WireEvent } from "../dialect.ts";
import { encodeStreamError } from "../openai-chat/errors.ts";
import { openAiUsage, reportedUsage } from "../openai-usage.ts";
import { wireId } from "../wire-id.ts";
import type { CompletionWire } from "./request.ts";

/** Completion chunks: text only (thinking is not part of a completion), one finish reason, `[DONE]`. Rewrites as in Chat Completions. */
export class CompletionEncoder implements Encoder {
  readonly #context: EncodeContext;
  readonly #fold: AnswerFold;
  readonly #includeUsage: boolean;

  constructor(context: EncodeContext) {
    this.#context = context;
    this.#fold = new AnswerFold(context.parsed.request);
    this.#includeUsage = (context.parsed.wire as CompletionWire).includeUsage; // set by this dialect's own parser
  }

  open(): readonly WireEvent[] {
    return [];
  }

  encode(event: TurnEvent): readonly WireEvent[] {
    return this.#fold.push(event).flatMap((step) => this.#step(step));
  }

  heartbeat(): readonly WireEvent[] {
    return [this.#chunk("")];
  }

  broken(error: ErrorRecord): readonly WireEvent[] {
    return [encodeStreamError(error, this.#context.requestId)];
  }

  #step(step: AnswerStep): readonly WireEvent[] {
    switch (step.type) {
      case "open":
      case "close":
        return [];
      case "delta":
        return step.block.kind === "text" ? [this.#chunk(step.delta)] : [];
      case "rewritten":
        return [this.#chunk(step.delta, null, { millrace: { rewritten: step.text } })];
      case "end":
        if (step.end.type === "failed") return this.broken(step.end.error);
        if (step.end.type === "cancelled") return this.broken(cancelledError(step.end.by));
        return [
          this.#chunk("", finishReason(this.#fold.answer), millraceEnd(step.end)),
          ...this.#usage(),
          { data: "[DONE]" },
        ];
      default:
        return step satisfies never;
    }
  }

  #usage(): readonly WireEvent[] {
    if (!this.#includeUsage) return [];
    const usage = openAiUsage(reportedUsage(this.#fold.answer, this.#context));
    return [{ data: JSON.stringify({ ...head(this.#context), choices: [], usage }) }];
  }

  #chunk(text: string, reason: string | null = null, extension: JsonObject = {}): WireEvent {
    const choices = [{ text, index: 0, logprobs: null, finish_reason: reason }];
    const usage = this.#includeUsage ? { usage: null } : {};
    return { data: JSON.stringify({ ...head(this.#context), choices, ...usage, ...extension }) };
  }
}

/** A finished answer as one `text_completion`. */
export function encodeCompletion(context: EncodeContext, answer: Answer): unknown {
  const text = answer.blocks.map((block) => (block.kind === "text" ? block.text : "")).join("");
  return {
    ...head(context),
    choices: [{ text, index: 0, logprobs: null, finish_reason: finishReason(answer) }],
    usage: openAiUsage(reportedUsage(answer, context)),
    ...millraceEnd(answer.end),
  };
}

/** A completion knows no tools; a call that came all the same ended it. */
function finishReason(answer: Answer): string {
  const reason = answer.end?.type === "finished" ? answer.end.reason.unified : "stop";
  return reason === "tool_calls" ? "stop" : reason;
}

function head(context: EncodeContext): JsonObject {
  return {
    id: wireId("cmpl-", context.turnId),
    object: "text_completion",
    created: Math.floor(context.createdAtMs / 1000),
    model: context.parsed.request.model,
  };
}
