import { base64Encode } from "@bufbuild/protobuf/wire";
import type { WelcomeMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import {
  isAfter,
  type Mark,
  type OutgoingKind,
  type OutgoingMessage,
  type StreamRecord,
  startMark,
} from "../records/record.ts";

/** The phase of a stream. `lost`: the connection is gone and another one is due. */
export type Phase = "attaching" | "attached" | "lost" | "ended";

export interface StreamState {
  readonly phase: Phase;
  readonly record: StreamRecord;
  /** The last event that this attach delivered, surfaced or not. */
  readonly received: Mark;
  /** The last event that this life of the application was handed, or had before; as far as an attach may skip. */
  readonly surfaced: Mark;
  /** Nothing up to this event is surfaced: the application has applied it in an earlier life. */
  readonly floor: string;
  /** Event ids of the calls that this life of the application was handed. */
  readonly handed: readonly string[];
  /** Surfaced, and the application has not come back for more yet. */
  readonly pending: { readonly mark: Mark; readonly isEnd: boolean } | undefined;
  /** Whether this is an observer's state: it sends nothing, and other attaches write. */
  readonly observes: boolean;
  /** The server reported that it cannot resume this stream: the next loss is final. */
  readonly degraded: boolean;
  /** Attaches in a row that brought no new event and no acknowledgement. */
  readonly fruitless: number;
}

/** The facts about the stream in a welcome; undefined if the server sends none. */
export interface Welcome {
  readonly degraded: boolean;
  readonly epoch: number | undefined;
  readonly tailEventId: string | undefined;
  readonly highestSeqno: number | undefined;
  /** The server's digest at our cursor, base64. */
  readonly chainHead: string | undefined;
  readonly ticket: string | undefined;
}

/** The parts of a welcome that the algorithm needs. An original server sends no facts. */
export function welcomeOf({ isDegradedMode, facts }: WelcomeMessage): Welcome {
  return {
    degraded: isDegradedMode,
    epoch: facts?.epoch,
    tailEventId: facts?.tailEventId,
    highestSeqno: facts?.highestSeqno,
    chainHead: facts && base64Encode(facts.chainHead),
    ticket: facts === undefined || facts.nextTicket.length === 0 ? undefined : base64Encode(facts.nextTicket),
  };
}

export type Input =
  | { readonly type: "attach" }
  | ({ readonly type: "welcome" } & Welcome)
  | { readonly type: "acknowledged"; readonly seqno: number }
  | ({ readonly type: "event" } & ReceivedEvent)
  /** An event without an id, which only a degraded server may send. */
  | { readonly type: "unnumbered" }
  /** The application came back for more: it has applied the event that it got last. */
  | { readonly type: "applied" }
  /** The application is about to run a tool. */
  | { readonly type: "started"; readonly callId: string }
  /** The application gives something to send: `payload` as in `OutgoingMessage`; `callId` of a tool's result. */
  | { readonly type: "given"; readonly kind: OutgoingKind; readonly payload: string; readonly callId?: string }
  | { readonly type: "lost" }
  /**
   * A final refusal of the server. `forget`: the stream no longer exists. `set_aside`: the record does not match the server's
   * log. `keep`: the stream can be continued with another key, or by its owner.
   */
  | { readonly type: "refused"; readonly record: "forget" | "set_aside" | "keep" };

/**
 * The state of a tool call when the application gets it. `new`: it never ran. `unknown`: an earlier run of the application
 * started it and gave no result. `finished`: its result was given; it is only shown again.
 */
export type CallOutcome = "new" | "unknown" | "finished";

/** An action for the driver. Effects are carried out in their order. */
export type Effect =
  /** Make the record durable before anything after it. */
  | { readonly type: "store" }
  /** The record changed, and may be stored a little later: losing it costs a replay and nothing else. */
  | { readonly type: "note" }
  | { readonly type: "forget" }
  | { readonly type: "set_aside" }
  | { readonly type: "send"; readonly message: OutgoingMessage }
  /** Hand the event to the application; with `call` for a tool call. */
  | { readonly type: "surface"; readonly call?: CallOutcome }
  /** The two logs differ: nothing more is surfaced or sent, and the record is set aside. */
  | { readonly type: "diverged"; readonly why: string }
  | { readonly type: "lost_for_good" };

export interface StreamDecision {
  readonly state: StreamState;
  readonly effects: readonly Effect[];
}

/** A server's event, as far as the algorithm cares. `chain`: the head of the chain with it, base64. */
export interface ReceivedEvent {
  readonly eventId: string;
  readonly chain: string;
  readonly event:
    | { readonly kind: "content" }
    | { readonly kind: "tool_call"; readonly callId: string }
    /** The count and the chain's head of all events before the end, from the server. */
    | { readonly kind: "end"; readonly countBefore: number; readonly chainBefore: string };
}

/**
 * A stream that starts or continues from its record. `after`: the last event that the application itself has kept; if undefined, the
 * last one applied by the record; "0" repeats every event.
 */
export function begin(record: StreamRecord, after: string = record.applied.eventId): StreamState {
  const isEarlier = isAfter(record.cursor.eventId, after);
  return {
    phase: "attaching",
    record,
    received: startMark,
    surfaced: isEarlier ? startMark : record.cursor,
    floor: after,
    handed: [],
    pending: undefined,
    observes: false,
    degraded: false,
    fruitless: 0,
  };
}

/** The start of the next attach: the cursor, or earlier while the application still gets events that it had before. */
export function attachMark({ record, surfaced }: StreamState): Mark {
  return isAfter(record.cursor.eventId, surfaced.eventId) ? surfaced : record.cursor;
}

/** Ends the stream because client and server do not speak of the same one. */
export function diverge(state: StreamState, why: string): StreamDecision {
  return { state: { ...state, phase: "ended" }, effects: [{ type: "diverged", why }] };
}
