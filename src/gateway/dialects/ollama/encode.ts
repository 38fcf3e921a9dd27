import type { ErrorRecord } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { TurnEvent } from "../../../log/event.ts";
import {
  type Answer,
  AnswerFold,
  type AnswerStep,
  argumentsObject,
  type Block,
  millraceEnd,
  type ToolCallBlock,
} from "../answer.ts";
import { cancelledError } from "../cancelled.ts";
import type { EncodeContext, Encoder, WireEvent } from "../dialect.ts";
import { millraceUsage, reportedUsage } from "../openai-usage.ts";
import { ollamaErrorBody } from "./errors.ts";
import type { OllamaWire } from "./request.ts";

/** What a line of an answer brings. */
interface LineParts {
  readonly content?: string;
  readonly thinking?: string;
  readonly calls?: readonly ToolCallBlock[];
}

/**
 * Lines of Ollama's stream: each text and thought as it comes, each call whole, and a last line with `done`. Rewrites are sent as in
 * Chat Completions. Source: docs/wire/clients.md, "Ollama".
 */
export class OllamaEncoder implements Encoder {
  readonly #context: EncodeContext;
  readonly #fold: AnswerFold;

  constructor(context: EncodeContext) {
    this.#context = context;
    this.#fold = new AnswerFold(context.parsed.request);
  }

  open(): readonly WireEvent[] {
    return [];
  }

  encode(event: TurnEvent): readonly WireEvent[] {
    return this.#fold.push(event).flatMap((step) => this.#step(step));
  }

  heartbeat(): readonly WireEvent[] {
    return [this.#line({})];
  }

  broken(error: ErrorRecord): readonly WireEvent[] {
    return [{ data: JSON.stringify(ollamaErrorBody(error)) }];
  }

  #step(step: AnswerStep): readonly WireEvent[] {
    switch (step.type) {
      case "open":
        return [];
      case "delta":
        return step.block.kind === "tool_call" ? [] : [this.#line(saidBy(step.block, step.delta))];
      case "rewritten":
        return [this.#line({ content: step.delta }, { millrace: { rewritten: step.text } })];
      case "close":
        return step.block.kind === "tool_call" ? [this.#line({ calls: [step.block] })] : [];
      case "end":
        if (step.end.type === "failed") return this.broken(step.end.error);
        if (step.end.type === "cancelled") return this.broken(cancelledError(step.end.by));
        return [this.#line({}, endOf(this.#context, this.#fold.answer))];
      default:
        return step satisfies never;
    }
  }

  #line(said: LineParts, more: JsonObject = {}): WireEvent {
    return { data: JSON.stringify({ ...head(this.#context), ...spell(this.#context, said), done: false, ...more }) };
  }
}

/** A finished answer as one body. */
export function encodeOllamaAnswer(context: EncodeContext, answer: Answer): unknown {
  const joined = (kind: Block["kind"]) =>
    answer.blocks.map((block) => (block.kind === kind && block.kind !== "tool_call" ? block.text : "")).join("");
  const calls = answer.blocks.filter((block) => block.kind === "tool_call");
  const said = { content: joined("text"), thinking: joined("thinking"), calls };
  return { ...head(context), ...spell(context, said), ...endOf(context, answer) };
}

function head({ createdAtMs, parsed }: EncodeContext): JsonObject {
  return { model: parsed.request.model, created_at: new Date(createdAtMs).toISOString() };
}

function saidBy(block: Block, delta: string): LineParts {
  return block.kind === "thinking" ? { thinking: delta } : { content: delta };
}

function spell({ parsed }: EncodeContext, { content = "", thinking = "", calls = [] }: LineParts): JsonObject {
  const thought = thinking === "" ? {} : { thinking };
  if ((parsed.wire as OllamaWire).form === "generate") return { response: content, ...thought }; // set by this dialect's own parser
  const called = calls.length === 0 ? {} : { tool_calls: calls.map(wholeCall) };
  return { message: { role: "assistant", content, ...thought, ...called } };
}

function wholeCall({ callId, callIndex, name, arguments: text }: ToolCallBlock): JsonObject {
  return { id: callId, function: { index: callIndex, name, arguments: argumentsObject(text) } };
}

/** Times are left out: a reader after a restart gets the same bytes. */
function endOf(context: EncodeContext, answer: Answer): JsonObject {
  const usage = reportedUsage(answer, context);
  const cut = answer.end?.type === "finished" && answer.end.reason.unified === "length";
  return {
    done: true,
    done_reason: cut ? "length" : "stop",
    prompt_eval_count: usage.promptTokens,
    eval_count: usage.completionTokens,
    millrace: { ...millraceUsage(usage).millrace, ...millraceEnd(answer.end).millrace },
  };
}
