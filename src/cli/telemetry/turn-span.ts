import { createHash } from "node:crypto";
import type { FinishedTurn } from "../../usage/history/finished-turn.ts";

type Value =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly arrayValue: { values: Value[] } };

/** A span in OTLP's JSON form. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly events: readonly { readonly timeUnixNano: string; readonly name: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

const client = 3;
const failed = 2;

/**
 * An ended turn as a span of a model call. It has names and counts, never a prompt or an answer. Its ids come from the turn's id, so
 * that a turn that is sent twice is one span. Source: docs/wire/telemetry.md, "Spans".
 */
export function spanOf(turn: FinishedTurn): OtlpSpan {
  const { turnId, dialect, outcome, reason, startedAtMs, endedAtMs, firstTokenMs } = turn;
  const model = turn.modelName ?? turn.model;
  const digest = createHash("sha256").update(`millrace turn\0${turnId}`).digest("hex");
  const counted = turn.tokenSource !== "unknown";
  return {
    traceId: digest.slice(0, 32),
    spanId: digest.slice(32, 48),
    name: `chat ${model}`,
    kind: client,
    startTimeUnixNano: nanoseconds(startedAtMs),
    endTimeUnixNano: nanoseconds(Math.max(startedAtMs, endedAtMs)),
    attributes: [
      text("gen_ai.operation.name", "chat"),
      text("gen_ai.provider.name", turn.ide ?? "millrace.agent"),
      text("gen_ai.request.model", model),
      text("gen_ai.response.model", turn.model),
      ...(outcome === "finished"
        ? [{ key: "gen_ai.response.finish_reasons", value: { arrayValue: { values: [{ stringValue: reason }] } } }]
        : [text("error.type", reason)]),
      ...(counted ? [count("gen_ai.usage.input_tokens", turn.promptTokens)] : []),
      ...(counted ? [count("gen_ai.usage.output_tokens", turn.completionTokens + turn.thinkingTokens)] : []),
      text("millrace.turn.id", turnId),
      text("millrace.api", dialect),
      text("millrace.outcome", outcome),
      text("millrace.token_source", turn.tokenSource),
      ...(turn.client === undefined ? [] : [text("millrace.client", turn.client)]),
      ...(turn.key === undefined ? [] : [text("millrace.key", turn.key)]),
    ],
    events:
      firstTokenMs === undefined
        ? []
        : [{ timeUnixNano: nanoseconds(startedAtMs + firstTokenMs), name: "first token" }],
    status: outcome === "failed" ? { code: failed, message: reason } : {},
  };
}

function text(key: string, value: string) {
  return { key, value: { stringValue: value } };
}

/** OTLP's JSON writes 64-bit numbers as text. */
function count(key: string, value: number) {
  return { key, value: { intValue: String(Math.round(value)) } };
}

function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms)) * 1_000_000n}`;
}
