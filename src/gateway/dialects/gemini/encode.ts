import { type JsonObject, writeJson } from "../../../base/json.ts";
import type { FinishReason } from "../../../log/event.ts";
import { type Answer, argumentsObject, type Block, millraceEnd, type ToolCallBlock } from "../answer.ts";
import { type Dialect, type EncodeContext, type Encoder, toldPlace, type WireEvent, wireId } from "../dialect.ts";
import { millraceUsage, reportedUsage } from "../openai-usage.ts";
import { stepEncoder } from "../step-encoder.ts";
import { encodeGeminiError } from "./errors.ts";
import { type GeminiWire, parseGeminiRequest } from "./request.ts";

/**
 * Chunks of Gemini's stream: each text and thought as it comes, each call whole, and a last chunk with the finish reason. Rewrites are
 * sent as in Chat Completions. Silence is an empty text. Source: docs/dev/wire/clients.md, "Gemini".
 */
function geminiEncoder(context: EncodeContext): Encoder {
  const chunk = (parts: readonly JsonObject[], more: JsonObject = {}): WireEvent[] => [
    { data: writeJson({ candidates: [candidate(parts)], ...head(context), ...more }) },
  ];
  return stepEncoder(context, {
    delta(block, delta) {
      const parts = block.kind === "tool_call" ? [] : partsOf({ ...block, text: delta }, context);
      return parts.length === 0 ? [] : chunk(parts);
    },
    rewritten: (_block, text, rewritten) => chunk([{ text }], { millrace: { rewritten } }),
    close: (block) => (block.kind === "tool_call" ? chunk(partsOf(block, context)) : []),
    finished: (_end, answer) => [{ data: writeJson(whole([{ text: "" }], context, answer)) }],
    heartbeat: (waiting) => chunk([{ text: "" }], toldPlace(waiting)),
    failed: (error) => [{ data: writeJson(encodeGeminiError(error, context.requestId).body) }],
  });
}

/** The same as the lines of one array: what the API streams to those that ask for no events. */
function arrayEncoder(context: EncodeContext): Encoder {
  const events = geminiEncoder(context);
  let isBegun = false;
  const lines = (given: readonly WireEvent[], isEnd = false): WireEvent[] =>
    given.map(({ data }, i) => {
      const before = isBegun ? "," : "[";
      isBegun = true;
      return { data: `${before}${data}${isEnd && i === given.length - 1 ? "\n]" : ""}` };
    });
  return {
    open: () => lines(events.open()),
    encode: (event) => lines(events.encode(event), event.type === "finished"),
    heartbeat: (waiting) => lines(events.heartbeat(waiting)),
    broken: (error) => lines(events.broken(error)),
  };
}

/** A finished answer as one body. */
function encodeGeminiAnswer(context: EncodeContext, answer: Answer): unknown {
  const parts = answer.blocks.flatMap((block) => partsOf(block, context));
  return whole(parts.length === 0 ? [{ text: "" }] : parts, context, answer);
}

function candidate(parts: readonly JsonObject[]): JsonObject {
  return { content: { role: "model", parts }, index: 0 };
}

function head({ parsed, turnId }: EncodeContext): JsonObject {
  return { modelVersion: parsed.request.model, responseId: wireId("resp_", turnId) };
}

function whole(parts: readonly JsonObject[], context: EncodeContext, answer: Answer): JsonObject {
  const usage = reportedUsage(answer, context);
  const { promptTokens, completionTokens, thinkingTokens, cachedPromptTokens: cached } = usage;
  const finishReason = answer.end?.type === "finished" ? finishReasons[answer.end.reason.unified] : undefined;
  return {
    candidates: [{ ...candidate(parts), finishReason }],
    usageMetadata: {
      promptTokenCount: promptTokens,
      candidatesTokenCount: completionTokens - thinkingTokens,
      totalTokenCount: promptTokens + completionTokens,
      thoughtsTokenCount: thinkingTokens,
      ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
    },
    ...head(context),
    millrace: { ...millraceUsage(usage).millrace, ...millraceEnd(answer.end).millrace },
  };
}

const finishReasons: Readonly<Record<FinishReason["unified"], string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

/** Thoughts come only where the request asks for them. */
function partsOf(block: Block, { parsed }: EncodeContext): JsonObject[] {
  if (block.kind === "tool_call") return [{ functionCall: callOf(block) }];
  if (block.text === "") return [];
  if (block.kind === "text") return [{ text: block.text }];
  const { includeThoughts } = parsed.wire as GeminiWire; // set by this dialect's own parser
  return includeThoughts ? [{ text: block.text, thought: true }] : [];
}

function callOf({ callId, name, arguments: text }: ToolCallBlock): JsonObject {
  return { id: callId, name, args: argumentsObject(text) };
}

/** Google's Gemini API: `…:generateContent`, and `…:streamGenerateContent` as server-sent events. */
export const gemini: Dialect = {
  name: "gemini",
  hasIdsForResuming: true,
  parse: parseGeminiRequest,
  encoder: geminiEncoder,
  encodeAnswer: encodeGeminiAnswer,
  encodeError: encodeGeminiError,
};

/** The same, streamed as one array. */
export const geminiArray: Dialect = { ...gemini, framing: "array", encoder: arrayEncoder };
