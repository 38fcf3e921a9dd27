import type { Outgoing, OutgoingKind, StreamRecord } from "./record.ts";

/** What a stream is doing. `lost`: the connection is gone and another one is due. */
export type Phase = "attaching" | "attached" | "lost" | "ended";

export interface StreamState {
  readonly phase: Phase;
  readonly record: StreamRecord;
  /** The server said that it cannot resume this stream: the next loss is final. */
  readonly degraded: boolean;
  /** Which attach this is, by the server's count. */
  readonly epoch: number;
  /** Attaches in a row that brought no new event and no acknowledgement. */
  readonly fruitless: number;
}

/** What a server's event is, as far as the algorithm cares. */
export type EventKind =
  | { readonly kind: "text" | "thinking" | "start" | "rewritten" | "usage" }
  | { readonly kind: "tool_call"; readonly callId: string; readonly complete: boolean }
  | { readonly kind: "end" };

export type Input =
  | {
      readonly type: "welcome";
      /** The server's digest at our cursor; undefined from a server that keeps none. */
      readonly chainHead: string | undefined;
      readonly degraded: boolean;
      readonly epoch: number;
      readonly highestSeqno: number | undefined;
      readonly expiresAtMs: number | undefined;
      readonly serverNowMs: number | undefined;
      readonly nowMs: number;
    }
  | { readonly type: "acknowledged"; readonly seqno: number }
  | { readonly type: "event"; readonly eventId: string; readonly event: EventKind; readonly chain: string }
  /** The application gives something to send: `payload` as in `Outgoing`; `callId` of a tool's result. */
  | { readonly type: "given"; readonly kind: OutgoingKind; readonly payload: string; readonly callId?: string }
  | { readonly type: "lost" }
  /** The server refused for good: its own words are the reason. */
  | { readonly type: "refused" }
  | { readonly type: "attach" };

/** What the driver must do, in this order: `store` before anything after it. */
export type Effect =
  | { readonly type: "store" }
  | { readonly type: "forget" }
  | { readonly type: "send"; readonly message: Outgoing }
  /** Hand the event to the application; `again` when an earlier life of it had this call and its result is unknown. */
  | { readonly type: "surface"; readonly again: boolean }
  | { readonly type: "drop" }
  | { readonly type: "reconnect" }
  | { readonly type: "end"; readonly how: "complete" | "refused" | "lost_degraded" | "diverged" };

export interface Decision {
  readonly state: StreamState;
  readonly effects: readonly Effect[];
}

/** A stream that starts or goes on from its record. */
export function begin(record: StreamRecord): StreamState {
  return { phase: "attaching", record, degraded: false, epoch: 0, fruitless: 0 };
}

/**
 * The client's algorithm as a pure step. Source: facts/idempotent-streams.md, A7 with the fixes of A11: numbers are
 * stored before they are sent (H2), close and abort are numbered (H3), the cursor waits for unfinished effects (H1), a
 * stream that the server has welcomed is never created again (H6), and a fruitless reconnect counts (H9).
 */
export function decide(state: StreamState, input: Input): Decision {
  if (state.phase === "ended") return { state, effects: [] };
  switch (input.type) {
    case "attach":
      return { state: { ...state, phase: "attaching" }, effects: [] };
    case "welcome":
      return welcome(state, input);
    case "acknowledged":
      return acknowledged(state, input.seqno);
    case "event":
      return applied(state, input);
    case "given":
      return given(state, input);
    case "lost":
      if (state.degraded)
        return {
          state: { ...state, phase: "ended" },
          effects: [{ type: "forget" }, { type: "end", how: "lost_degraded" }],
        };
      if (state.phase === "lost") return { state, effects: [] };
      return { state: { ...state, phase: "lost", fruitless: state.fruitless + 1 }, effects: [{ type: "reconnect" }] };
    case "refused":
      return { state: { ...state, phase: "ended" }, effects: [{ type: "forget" }, { type: "end", how: "refused" }] };
    default:
      return input satisfies never;
  }
}

function welcome(state: StreamState, input: Extract<Input, { type: "welcome" }>): Decision {
  const { record } = state;
  // Numbers that this record has not given out yet were accepted, or the logs differ: one of the two went back in time.
  const isRolledBack = input.highestSeqno !== undefined && input.highestSeqno >= record.nextSeqno;
  const isForked = input.chainHead !== undefined && input.chainHead !== record.cursorChain;
  if (isRolledBack || isForked) {
    return { state: { ...state, phase: "ended" }, effects: [{ type: "drop" }, { type: "end", how: "diverged" }] };
  }
  const next: StreamRecord = {
    ...record,
    created: true,
    expiresAtMs: input.expiresAtMs ?? record.expiresAtMs,
    clockOffsetMs: input.serverNowMs === undefined ? record.clockOffsetMs : input.serverNowMs - input.nowMs,
  };
  return {
    state: { ...state, phase: "attached", degraded: input.degraded, epoch: input.epoch, record: next },
    effects: [
      input.degraded ? { type: "forget" } : { type: "store" },
      ...record.unacked.map((message) => ({ type: "send", message }) as const),
    ],
  };
}

function acknowledged(state: StreamState, seqno: number): Decision {
  const unacked = state.record.unacked.filter((message) => message.seqno !== seqno);
  if (unacked.length === state.record.unacked.length) return { state, effects: [] }; // of an earlier send of the same number
  return { state: { ...state, fruitless: 0, record: { ...state.record, unacked } }, effects: [{ type: "store" }] };
}

function applied(state: StreamState, { eventId, event, chain }: Extract<Input, { type: "event" }>): Decision {
  const { record } = state;
  const isOld = !isAfter(eventId, record.surfaced);
  const effect = event.kind === "tool_call" ? record.effects.find(({ callId }) => callId === event.callId) : undefined;
  if (event.kind === "tool_call" && isOld) {
    // Delivered again because the cursor waits for it. In the same life of the application it is known; else it is asked again.
    return effect === undefined
      ? { state, effects: [{ type: "drop" }] }
      : { state, effects: [{ type: "surface", again: true }] };
  }
  if (isOld) return { state, effects: [{ type: "drop" }] };
  const effects =
    event.kind === "tool_call" && event.complete
      ? [...record.effects, { callId: event.callId, eventId }]
      : record.effects;
  const moves = effects.length === 0 ? { cursor: eventId, cursorChain: chain } : {};
  const next = { ...record, surfaced: eventId, surfacedChain: chain, count: record.count + 1, effects, ...moves };
  if (event.kind === "end") {
    return {
      state: { ...state, phase: "ended", record: next },
      effects: [{ type: "surface", again: false }, { type: "forget" }, { type: "end", how: "complete" }],
    };
  }
  return {
    state: { ...state, fruitless: 0, record: next },
    effects: [{ type: "store" }, { type: "surface", again: false }],
  };
}

function given(state: StreamState, input: Extract<Input, { type: "given" }>): Decision {
  const { record } = state;
  const message: Outgoing = { seqno: record.nextSeqno, kind: input.kind, payload: input.payload };
  const effects =
    input.callId === undefined ? record.effects : record.effects.filter(({ callId }) => callId !== input.callId);
  const next: StreamRecord = {
    ...record,
    nextSeqno: record.nextSeqno + 1,
    unacked: [...record.unacked, message],
    effects,
    ...(effects.length === 0 ? { cursor: record.surfaced, cursorChain: record.surfacedChain } : {}),
  };
  const send = state.phase === "attached" ? [{ type: "send", message } as const] : [];
  return { state: { ...state, record: next }, effects: [{ type: "store" }, ...send] };
}

/** Whether one event comes after another: ids are ordered as text. */
function isAfter(eventId: string, other: string): boolean {
  return eventId > other;
}
