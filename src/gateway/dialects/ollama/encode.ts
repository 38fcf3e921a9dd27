import type { ErrorRecord } from "../../../base/errors.ts";
import { type JsonObject, writeJson } from "../../../base/json.ts";
import { type Answer, argumentsObject, type Block, millraceEnd, type ToolCallBlock, textOf } from "../answer.ts";
import {
  type Dialect,
  type EncodeContext,
  type Encoder,
  toldPlace,
  type WireError,
  type WireEvent,
} from "../dialect.ts";
import { type FirstSentences, messageOf, modelIn, retryHeaders, statusFor } from "../errors.ts";
import { millraceUsage, reportedUsage } from "../openai-usage.ts";
import { stepEncoder } from "../step-encoder.ts";
import { type OllamaWire, parseOllamaRequest } from "./request.ts";

/** What a line of an answer brings. */
interface LineParts {
  readonly content?: string;
  readonly thinking?: string;
  readonly calls?: readonly ToolCallBlock[];
}

/**
 * Lines of Ollama's stream: each text and thought as it comes, each call whole, and a last line with `done`. Rewrites are sent as in
 * Chat Completions. Source: docs/dev/wire/clients.md, "Ollama".
 */
function ollamaEncoder(context: EncodeContext): Encoder {
  const line = (said: LineParts, more: JsonObject = {}): readonly WireEvent[] => [
    { data: writeJson({ ...head(context), ...spell(context, said), done: false, ...more }) },
  ];
  return stepEncoder(context, {
    delta: (block, delta) => (block.kind === "tool_call" ? [] : line(saidBy(block, delta))),
    rewritten: (_block, content, rewritten) => line({ content }, { millrace: { rewritten } }),
    close: (block) => (block.kind === "tool_call" ? line({ calls: [block] }) : []),
    finished: (_end, answer) => line({}, endOf(context, answer)),
    heartbeat: (waiting) => line({}, toldPlace(waiting)),
    failed: (error) => [{ data: writeJson(encodeOllamaError(error).body) }],
  });
}

/** A finished answer as one body. */
function encodeOllamaAnswer(context: EncodeContext, answer: Answer): unknown {
  const calls = answer.blocks.filter((block) => block.kind === "tool_call");
  const said = { content: textOf(answer.blocks), thinking: textOf(answer.blocks, "thinking"), calls };
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

function endOf(context: EncodeContext, answer: Answer): JsonObject {
  const usage = reportedUsage(answer, context);
  const cut = answer.end?.type === "finished" && answer.end.reason.unified === "length";
  return {
    done: true,
    done_reason: cut ? "length" : "stop",
    prompt_eval_count: usage.promptTokens,
    eval_count: usage.completionTokens,
    ...durationsOf(context, answer),
    millrace: { ...millraceUsage(usage).millrace, ...millraceEnd(answer.end).millrace },
  };
}

/** Clients divide counts by durations: none is shorter than a millisecond. */
const leastNs = 1_000_000;

/**
 * Times of the turn in nanoseconds, by its events, so that each reader gets the same: until the upstream had the conversation (`load`), until the
 * answer began (`prompt_eval`), until its end (`eval`).
 */
function durationsOf({ createdAtMs }: EncodeContext, answer: Answer): JsonObject {
  const { startedAtMs = createdAtMs } = answer;
  const { endedAtMs = startedAtMs } = answer;
  const { firstAtMs = endedAtMs } = answer;
  const ns = (fromMs: number, toMs: number) => Math.max(leastNs, Math.round((toMs - fromMs) * 1_000_000));
  return {
    total_duration: ns(createdAtMs, endedAtMs),
    load_duration: ns(createdAtMs, startedAtMs),
    prompt_eval_duration: ns(startedAtMs, firstAtMs),
    eval_duration: ns(firstAtMs, endedAtMs),
  };
}

const says: FirstSentences = {
  model: (error) => `model '${modelIn(error)}' not found.`,
  size: () => "The input length exceeds the context length.",
};

/** An error as Ollama writes it, whole and in a stream: its clients show `error` as it is. Source: docs/dev/wire/clients.md, "Ollama". */
export function encodeOllamaError(error: ErrorRecord): WireError {
  return { status: statusFor(error), headers: retryHeaders(error), body: { error: messageOf(error, says) } };
}

/** Ollama: `POST /api/chat` and `POST /api/generate`, whose bodies differ in how they say the question. */
export const ollama: Dialect = {
  name: "ollama",
  framing: "lines",
  parse: parseOllamaRequest,
  encoder: ollamaEncoder,
  encodeAnswer: encodeOllamaAnswer,
  encodeError: encodeOllamaError,
};
