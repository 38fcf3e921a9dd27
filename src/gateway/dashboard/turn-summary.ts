import { z } from "zod";
import type { ErrorRecord } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import {
  type BackendKind,
  endReasonOf,
  isCutShort,
  isTerminal,
  type OutlinedEvent,
  outlineEvent,
  type TurnEvent,
} from "../../log/event.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { TurnLabel } from "../../log/store.ts";
import { listedTurn } from "../../usage/history/finished-turn.ts";
import { encodeListed, listedMembers } from "../../usage/turn-page-envelope.ts";
import { instant, maybe } from "./inventory.ts";

/** The public facts of a turn: client, times, sizes; never a text. The JSON of the dashboard's routes. Unknown values are null, never zero. */
export const turnSummarySchema = z.object({
  object: z.literal("turn.summary"),
  ...listedMembers,
  status: z.enum(["running", "ended"]),
  dialect: z.string(),
  /** As the request names it. */
  model: z.string(),
  model_uid: z.string(),
  /** The name of the key that asked. */
  key: maybe(z.string()),
  /** The current phase of the turn, or its last one. */
  phase: z.enum(["waiting", "opened", "thinking", "text", "tool_call", "ended"]),
  /** Of the answer: text, thinking and arguments. */
  characters: maybe(z.int()),
  tokens: maybe(z.object({ prompt: z.number(), completion: z.number(), thinking: z.number(), estimated: z.boolean() })),
  outcome: maybe(z.enum(["finished", "failed", "cancelled"])),
  /** True while only memory holds the turn, because its store would not take it. */
  degraded: z.boolean(),
  /** The tools with which the IDE's agent looked something up; null while the turn runs. */
  ide_tools: maybe(z.array(z.string()).readonly()),
  /** True when the client sealed the turn with its own key: only that client can read the texts. */
  sealed: z.boolean(),
  /** While it goes on without its client: since when, and until when; null where it goes on to its end. */
  without_client: maybe(z.object({ since: instant, until: maybe(instant) })),
  /** The first line of the question, if texts are shown and the gateway still knows it. */
  question: z.string().optional(),
  /** The end of the answer so far, if texts are shown; only while the turn runs. */
  tail: z.string().optional(),
});

export type TurnSummary = Readonly<z.infer<typeof turnSummarySchema>>;

/** A turn's page: its texts only where they are shown. */
export const turnDetailSchema = turnSummarySchema.extend({
  shows_text: z.boolean(),
  prompt: maybe(z.array(z.object({ role: z.string(), text: z.string() }))),
});

/** Names for people: of a caller's key, and of a model by its UID. */
export interface Names {
  readonly keyNameOf?: ((caller: string) => string | undefined) | undefined;
  readonly modelNameOf: (uid: string) => string;
}

/**
 * A turn's summary, from its label and its answer in short: undefined where its log was not read yet. `newest`: the event that says what
 * the turn does now.
 */
export function summaryOf(
  record: TurnLabel,
  { keyNameOf, modelNameOf }: Names,
  short: readonly OutlinedEvent[] | undefined,
  newest = short?.findLast(({ type }) => type !== "usage"),
): TurnSummary {
  const turn = listedTurn({ ...record, outline: short });
  const answer = short?.find((event) => "characters" in event);
  const end = short?.findLast(isTerminal);
  const isRead = short !== undefined ? !isCutShort(short) : record.lastEventId === startOfLog;
  const status = record.ended || end !== undefined ? "ended" : "running";
  return {
    object: "turn.summary",
    ...encodeListed(turn, modelNameOf),
    status,
    dialect: record.dialect,
    model: record.request.model,
    model_uid: record.modelUid,
    key: keyNameOf?.(record.caller) ?? null,
    phase: status === "ended" ? "ended" : phaseOf(newest),
    characters: isRead ? (answer?.characters ?? 0) : null,
    tokens:
      turn.tokenSource === "unknown"
        ? null
        : {
            prompt: turn.promptTokens,
            completion: turn.completionTokens,
            thinking: turn.thinkingTokens,
            estimated: turn.tokenSource === "estimated",
          },
    outcome: turn.outcome ?? record.outcome ?? null,
    degraded: record.degraded,
    ide_tools: end === undefined ? null : end.type === "cancelled" ? [] : (end.ideTools ?? []),
    sealed: record.sealed === true,
    without_client: null,
  };
}

function phaseOf(newest: OutlinedEvent | undefined): TurnSummary["phase"] {
  if (newest === undefined) return "waiting";
  switch (newest.type) {
    case "started":
    case "usage":
      return "opened";
    case "rewritten":
      return "text";
    case "finished":
    case "failed":
    case "cancelled":
      return "ended";
    case "text":
    case "thinking":
    case "tool_call":
      return newest.type;
    default:
      return newest satisfies never;
  }
}

/** That a turn goes on without its client. */
export function encodeUnread(
  unread: Readonly<Record<"sinceMs" | "untilMs", number>> | undefined,
): TurnSummary["without_client"] {
  if (unread === undefined) return null;
  const { sinceMs, untilMs } = unread;
  return {
    since: new Date(sinceMs).toISOString(),
    until: Number.isFinite(untilMs) ? new Date(untilMs).toISOString() : null,
  };
}

/** One entry of a turn's log, from its outline. The member `text` is absent unless texts are shown. */
export function timelineEntry(
  event: OutlinedEvent,
  {
    tool,
    text,
    error,
  }: {
    readonly tool?: string | undefined;
    readonly text?: string | null;
    readonly error?: ErrorRecord | undefined;
  } = {},
): unknown {
  return {
    id: event.eventId,
    type: event.type,
    at: new Date(event.atMs).toISOString(),
    characters: "characters" in event ? event.characters : null,
    detail: tool ?? detailOf(event),
    ...(event.type === "tool_call" ? { done: event.done } : {}),
    ...(text === undefined ? {} : { text }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message, hint: error.hint } }),
  };
}

/** An entry with the name of its tool and the words of its error, and its text where texts are shown. */
export function openTimelineEntry(event: TurnEvent, showsText: boolean): unknown {
  const tool = event.type === "tool_call" ? event.name : undefined;
  const error = event.type === "failed" ? event.error : undefined;
  return timelineEntry(outlineEvent(event), { tool, error, ...(showsText ? { text: textOf(event) ?? null } : {}) });
}

/** The messages of a request as text; images and calls are named, not shown. */
export function messageTexts({ messages }: TurnRequest): readonly { readonly role: string; readonly text: string }[] {
  return messages.map((message) => {
    const parts = message.parts.map((part) => (part.type === "text" ? part.text : `[image, ${part.mimeType}]`));
    const calls =
      message.role === "assistant" ? message.toolCalls.map((call) => `${call.name}(${call.arguments})`) : [];
    return { role: message.role, text: [...parts, ...calls].join("\n") };
  });
}

/** The end of an answer's text as it grows, for the list of turns on the dashboard. */
const tailLength = 240;

export function tailAfter(tail: string, event: TurnEvent): string {
  if (event.type === "rewritten") return event.text.slice(-tailLength);
  return event.type === "text" || event.type === "thinking" ? (tail + event.delta).slice(-tailLength) : tail;
}

function textOf(event: TurnEvent): string | undefined {
  if (event.type === "text" || event.type === "thinking") return event.delta;
  if (event.type === "tool_call") return event.argumentsDelta;
  return event.type === "rewritten" ? event.text : undefined;
}

function detailOf(event: OutlinedEvent): string | null {
  if (event.type === "started") return backendNames[event.backend];
  if (event.type === "usage") {
    const out = event.completionTokens + event.thinkingTokens;
    return `${event.promptTokens} in, ${out} out${event.estimated ? ", estimated" : ""}`;
  }
  if (!isTerminal(event)) return null;
  const read = event.type === "cancelled" ? [] : (event.ideTools ?? []);
  return [endReasonOf(event), ...(read.length === 0 ? [] : [`read by the IDE: ${read.join(" ")}`])].join(", ");
}

const backendNames = {
  cascade: "a conversation over Cascade",
  raw_chat: "a chat of the IDE",
  acp: "a session of an agent program",
} as const satisfies Record<BackendKind, string>;
