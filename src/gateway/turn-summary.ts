import { isTerminal, type TurnEvent } from "../log/event.ts";
import type { TurnRequest } from "../log/request.ts";
import type { TurnRecord } from "../log/store.ts";
import type { Resumption } from "../usage/history/resumption.ts";

/** What an onlooker sees of a turn: who, how long, how much; never a text. The JSON of the dashboard's routes. */
export interface TurnSummary {
  readonly object: "turn.summary";
  readonly id: string;
  readonly status: "running" | "ended";
  readonly created_at: string;
  readonly ended_at: string | null;
  readonly dialect: string;
  readonly model: string;
  readonly model_uid: string;
  readonly client: string | null;
  readonly project: string | null;
  readonly first_token_ms: number | null;
  readonly characters: number;
  readonly tokens: {
    readonly prompt: number;
    readonly completion: number;
    readonly thinking: number;
    readonly estimated: boolean;
  } | null;
  readonly outcome: "finished" | "failed" | "cancelled" | null;
  readonly reason: string | null;
  /** True while only memory holds the turn, because its store would not take it. */
  readonly degraded: boolean;
  /** The product that the prompt went to; null until it did. */
  readonly ide: string | null;
}

/** A turn before its first event. */
export function beginSummary(record: TurnRecord): TurnSummary {
  return {
    object: "turn.summary",
    id: record.turnId,
    status: record.ended ? "ended" : "running",
    created_at: new Date(record.createdAtMs).toISOString(),
    ended_at: null,
    dialect: record.dialect,
    model: record.request.model,
    model_uid: record.modelUid,
    client: record.client ?? null,
    project: record.project ?? null,
    first_token_ms: null,
    characters: 0,
    tokens: null,
    outcome: record.outcome ?? null,
    reason: null,
    degraded: record.degraded,
    ide: null,
  };
}

/** The summary after one more event of the turn's log. Pure; events come in order. */
export function summarize(summary: TurnSummary, event: TurnEvent): TurnSummary {
  const length = charactersOf(event);
  const first = summary.first_token_ms ?? Math.max(0, event.atMs - Date.parse(summary.created_at));
  if (length !== undefined) {
    const characters = event.type === "rewritten" ? length : summary.characters + length;
    return { ...summary, first_token_ms: first, characters };
  }
  if (event.type === "started") return { ...summary, ide: event.ide ?? null };
  if (event.type === "usage") {
    // A measured count stays when an estimate comes after it.
    if (summary.tokens !== null && !summary.tokens.estimated && event.estimated) return summary;
    const { promptTokens: prompt, completionTokens: completion, thinkingTokens: thinking, estimated } = event;
    return { ...summary, tokens: { prompt, completion, thinking, estimated } };
  }
  if (!isTerminal(event)) return summary;
  return {
    ...summary,
    status: "ended",
    ended_at: new Date(event.atMs).toISOString(),
    outcome: event.type,
    reason: reasonOf(event) ?? null,
  };
}

/** One entry of a turn's log. Its text only where texts are shown; a member `text` is not there otherwise. */
export function timelineEntry(event: TurnEvent, showsText: boolean): unknown {
  return {
    id: event.eventId,
    type: event.type,
    at: new Date(event.atMs).toISOString(),
    characters: charactersOf(event) ?? null,
    detail: detailOf(event) ?? null,
    ...(showsText ? { text: textOf(event) ?? null } : {}),
  };
}

/** Who came back to a turn, as JSON. */
export function encodeResumption({ atMs, how, after, client }: Resumption): unknown {
  return { at: new Date(atMs).toISOString(), how, after, client: client ?? null };
}

/** The messages of a request as text; images and calls are named, not shown. */
export function promptTexts({ messages }: TurnRequest): readonly { readonly role: string; readonly text: string }[] {
  return messages.map((message) => {
    const parts = message.parts.map((part) => (part.type === "text" ? part.text : `[image, ${part.mimeType}]`));
    const calls =
      message.role === "assistant" ? message.toolCalls.map((call) => `${call.name}(${call.arguments})`) : [];
    return { role: message.role, text: [...parts, ...calls].join("\n") };
  });
}

/** Characters that the event shows; undefined for events that show none. */
function charactersOf(event: TurnEvent): number | undefined {
  if (event.type === "text" || event.type === "thinking") return event.delta.length;
  if (event.type === "tool_call") return event.argumentsDelta.length;
  return event.type === "rewritten" ? event.text.length : undefined;
}

function textOf(event: TurnEvent): string | undefined {
  if (event.type === "text" || event.type === "thinking") return event.delta;
  if (event.type === "tool_call") return event.argumentsDelta;
  return event.type === "rewritten" ? event.text : undefined;
}

function detailOf(event: TurnEvent): string | undefined {
  switch (event.type) {
    case "started":
      return `${event.modelUid}, ${event.backend.replace("_", " ")}`;
    case "tool_call":
      return event.name;
    case "usage":
      return `${event.promptTokens} in, ${event.completionTokens + event.thinkingTokens} out${event.estimated ? ", estimated" : ""}`;
    case "text":
    case "thinking":
    case "rewritten":
      return undefined;
    case "finished":
    case "failed":
    case "cancelled":
      return reasonOf(event);
    default:
      return event satisfies never;
  }
}

function reasonOf(event: TurnEvent): string | undefined {
  if (event.type === "finished") return event.reason.unified;
  if (event.type === "failed") return event.error.code;
  return event.type === "cancelled" ? event.by : undefined;
}
