import { type ErrorCode, type ErrorRecord, MillraceError } from "../base/errors.ts";
import { type CascadeId, type EventId, type ModelUid, startOfLog } from "../base/ids.ts";

/** Which way a prompt went: Cascade (2.x), raw chat (1.x), or an agent that speaks ACP. */
export type BackendKind = "cascade" | "raw_chat" | "acp";

/** Why an answer ended, and the upstream's own name for the reason. */
export interface FinishReason {
  readonly unified: "stop" | "length" | "tool_calls" | "content_filter";
  readonly raw: string | undefined;
}

/** Token counts of one turn. `estimated` when counted here rather than reported by the server. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly thinkingTokens: number;
  /** Part of `promptTokens` that came from the model's cache. */
  readonly cachedPromptTokens?: number;
  readonly creditsHundredths?: number;
  readonly estimated: boolean;
}

/**
 * The events of a turn: the only vocabulary between backends and dialects. A log starts with `started` (unless the turn ended before
 * that) and ends with exactly one of `finished`, `failed`, `cancelled`. Source: docs/dev/turn-machine.md, "Transitions".
 */
export type TurnEventBody =
  /** The conversation exists upstream; logged before the prompt is sent, so that a restart can find it. */
  | {
      readonly type: "started";
      readonly modelUid: ModelUid;
      readonly backend: BackendKind;
      readonly cascadeId: CascadeId | undefined;
      /** How many steps a continued trajectory held before this turn; absent on a fresh one. */
      readonly fromStep?: number;
      /** Which product the prompt goes to (`windsurf`, `windsurf-next`): its plan pays. Absent in logs of older builds. */
      readonly ide?: string;
      /** The client's tools are the agent's own: calls come as `tool_call` events and never as text. */
      readonly tools?: "native";
      /** No prompt is sent: the turn gives the results to a prompt that an earlier turn began and that waits for them. */
      readonly goesOn?: true;
    }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  /** A call comes whole, in one event: `argumentsDelta` are all its arguments. `done` is false where the answer broke off in them. */
  | {
      readonly type: "tool_call";
      readonly callId: string;
      readonly name: string;
      readonly argumentsDelta: string;
      readonly done: boolean;
    }
  /**
   * The upstream rewrote text already sent: the full text as it now stands. `moved`: the deltas had all of it, in another order, so a
   * reader that cannot take text back lacks nothing.
   */
  | { readonly type: "rewritten"; readonly text: string; readonly moved?: true }
  | ({ readonly type: "usage" } & Usage)
  | {
      readonly type: "finished";
      readonly reason: FinishReason;
      readonly text: string;
      readonly ideTools?: IdeToolNames;
    }
  | { readonly type: "failed"; readonly error: ErrorRecord; readonly ideTools?: IdeToolNames }
  | { readonly type: "cancelled"; readonly by: CancelledBy };

/** The tools with which the IDE's agent looked something up in a turn: `VIEW_FILE`, each once. Absent where it used none. */
export type IdeToolNames = readonly string[];

/** The cause of an early end: the client's cancel, a grace time without a reader, the stop of the gateway, or the IDE. */
export type CancelledBy = "client" | "abandoned" | "superseded" | "shutdown" | "ide";

/** An event as the log holds it. `atMs` is epoch ms. */
export type TurnEvent = TurnEventBody & { readonly eventId: EventId; readonly atMs: number };

export type TerminalEventType = "finished" | "failed" | "cancelled";

export type TerminalEvent = TurnEventBody & { readonly type: TerminalEventType };

/** Whether nothing can follow this event. */
export function isTerminal<E extends TurnEventBody | OutlinedBody>(
  event: E,
): event is E & { readonly type: TerminalEventType } {
  return event.type === "finished" || event.type === "failed" || event.type === "cancelled";
}

const firstLength = "a".charCodeAt(0);

/**
 * The id of the `seq`-th event of a turn (from 1): its decimal digits after a letter that says how many they are (`a1`,
 * `b10`, `c100`), so that ids sort as text the way they sort as numbers, with no padding. `0` is `startOfLog`. An event of a later claim
 * names its epoch (`b10-2`): a crash can lose events that clients saw, and the next claim gives their numbers to others.
 */
export function eventIdOf(seq: number, claims: Claims = []): EventId {
  if (seq === 0) return startOfLog;
  const digits = String(seq);
  const epoch = 1 + claims.filter((last) => last < seq).length;
  const id = String.fromCharCode(firstLength + digits.length - 1) + digits;
  return (epoch === 1 ? id : `${id}-${epoch}`) as EventId; // the one place that makes them
}

/** Number of the last event before each claim of a turn after its first: epoch 2 first. */
export type Claims = readonly number[];

/**
 * The number of an event of this very log. `told`: what to tell of the cursor beside the reason.
 *
 * @throws MillraceError `invalid_request` for an event that the log does not reach, or that was lost; as `seqOf`.
 */
export function seqIn(
  { lastEventId, claims }: { readonly lastEventId: EventId; readonly claims?: Claims | undefined },
  eventId: string,
  told: { readonly param?: string; readonly hint: string } = readFromStart,
): number {
  const seq = seqOf(eventId);
  const isLost = eventIdOf(seq, claims) !== eventId;
  if (!isLost && seq <= seqOf(lastEventId)) return seq;
  const lost = "The event of this cursor was lost: its gateway died before it was stored.";
  throw new MillraceError("invalid_request", isLost ? lost : "The cursor is beyond the last event of this turn.", told);
}

const readFromStart = { hint: 'Send back the id of an event that this turn sent, or "0" to read from the start.' };

/** Under which claim of its turn an event was written. */
export function epochOf(eventId: EventId): number {
  return Number(eventId.split("-")[1] ?? 1);
}

/** The number behind an id. Throws `invalid_request` for text that `eventIdOf` never makes. */
export function seqOf(eventId: string): number {
  if (eventId === startOfLog) return 0;
  const [id = ""] = eventId.split("-", 1);
  const seq = Number(id.slice(1));
  const isId = /^[a-p][1-9]\d*(?:-(?!1$)[1-9]\d{0,8})?$/.test(eventId);
  if (!isId || !Number.isSafeInteger(seq) || eventIdOf(seq) !== id) {
    throw new MillraceError("invalid_request", "The cursor is not an event id of this gateway.", {
      hint: 'Send back an event id as it was received, or "0" to read from the start.',
    });
  }
  return seq;
}

/**
 * An event without its content: no text, no tool of the client, no argument, no error message. Observers and the usage history need
 * only this. It is all that the gateway itself keeps of a turn that its client sealed. Sizes are in characters.
 */
export type OutlinedBody =
  | {
      readonly type: "started";
      readonly modelUid: ModelUid;
      readonly backend: BackendKind;
      /** Absent in sealed logs of older builds, and where the turn has none. */
      readonly cascadeId?: CascadeId | undefined;
      /** Which product the prompt went to; absent in logs of older builds. */
      readonly ide?: string | undefined;
    }
  | { readonly type: "text" | "thinking"; readonly characters: number }
  | { readonly type: "tool_call"; readonly characters: number; readonly done: boolean }
  /** The size is that of the whole text after the rewrite. */
  | { readonly type: "rewritten"; readonly characters: number }
  | ({ readonly type: "usage" } & Usage)
  | { readonly type: "finished"; readonly reason: FinishReason["unified"]; readonly ideTools?: IdeToolNames }
  | { readonly type: "failed"; readonly code: ErrorCode; readonly ideTools?: IdeToolNames }
  | { readonly type: "cancelled"; readonly by: CancelledBy };

/** Where an outlined event stands in its log. `atMs` is epoch ms. */
export type OutlinedEvent = OutlinedBody & Pick<TurnEvent, "eventId" | "atMs">;

/** The outline of an event. Pure; the same whether or not a client sealed the turn. */
export function outlineOf(body: TurnEventBody): OutlinedBody {
  switch (body.type) {
    case "started": {
      const { type, modelUid, backend, cascadeId, ide } = body;
      return { type, modelUid, backend, cascadeId, ide };
    }
    case "text":
    case "thinking":
      return { type: body.type, characters: body.delta.length };
    case "tool_call":
      return { type: body.type, characters: body.argumentsDelta.length, done: body.done };
    case "rewritten":
      return { type: body.type, characters: body.text.length };
    case "usage":
      return usageOf(body);
    case "finished":
      return { type: body.type, reason: body.reason.unified, ...ideToolsOf(body) };
    case "failed":
      return { type: body.type, code: body.error.code, ...ideToolsOf(body) };
    case "cancelled":
      return { type: body.type, by: body.by };
    default:
      return body satisfies never;
  }
}

export function outlineEvent(event: TurnEvent): OutlinedEvent {
  return { ...outlineOf(event), eventId: event.eventId, atMs: event.atMs };
}

/**
 * An outline in short, with one more event: `started`, the first part of the answer with the size of all parts, the usage (a measured
 * one stays when an estimate follows), and the end. It stands in the row of a turn that has ended.
 */
export function shorten(short: readonly OutlinedEvent[], event: OutlinedEvent): readonly OutlinedEvent[] {
  if ("characters" in event) {
    const at = short.findIndex((each) => "characters" in each);
    const first = short[at];
    if (first === undefined || !("characters" in first))
      return [...short, event.type === "rewritten" ? { ...event, type: "text" } : event];
    const characters = event.type === "rewritten" ? event.characters : first.characters + event.characters;
    return short.with(at, { ...first, characters });
  }
  const at = event.type === "usage" ? short.findIndex(({ type }) => type === "usage") : -1;
  const usage = short[at];
  if (usage?.type !== "usage" || event.type !== "usage") return [...short, event];
  return event.estimated && !usage.estimated ? short : short.with(at, event);
}

/** Why a turn ended: the finish reason, the error's code, or who cancelled. */
export function endReasonOf(end: OutlinedBody & { readonly type: TerminalEventType }): string {
  if (end.type === "finished") return end.reason;
  return end.type === "failed" ? end.code : end.by;
}

/** Whether an outline in short lacks what came before its end, because that could not be read. */
export function isCutShort([first]: readonly OutlinedEvent[]): boolean {
  return first !== undefined && seqOf(first.eventId) > 1;
}

/** The member of an end where the IDE's agent looked something up. */
export function ideToolsOf({ ideTools }: { readonly ideTools?: IdeToolNames }): { readonly ideTools?: IdeToolNames } {
  return ideTools === undefined ? {} : { ideTools };
}

/** Copies known members only: a member that events gain later is not kept by accident. */
function usageOf(usage: Usage): OutlinedBody {
  const { promptTokens, completionTokens, thinkingTokens, cachedPromptTokens, creditsHundredths, estimated } = usage;
  return {
    type: "usage",
    promptTokens,
    completionTokens,
    thinkingTokens,
    ...(cachedPromptTokens === undefined ? {} : { cachedPromptTokens }),
    ...(creditsHundredths === undefined ? {} : { creditsHundredths }),
    estimated,
  };
}
