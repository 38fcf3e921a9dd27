import { isAfter, type KnownCall, type OutgoingMessage, type StreamRecord } from "../records/record.ts";
import { laterOf, receive, settle } from "./reading.ts";
import {
  attachMark,
  diverge,
  type Input,
  type StreamDecision,
  type StreamState,
  type Welcome,
} from "./stream-state.ts";

/**
 * The client's algorithm as a pure step: docs/dev/wire/idempotent-streams.md, "Client algorithm", with what closes its "Hazards".
 * Numbers are stored before they are sent (H2), close and abort are numbered (H3), the cursor waits for open tool calls (H1), a
 * stream that the server has welcomed is never created again (H6), a tool's start and its result are stored (H8), a
 * fruitless attach counts (H9).
 */
export function decide(state: StreamState, input: Input): StreamDecision {
  if (state.phase === "ended") return { state, effects: [] };
  switch (input.type) {
    case "attach":
      return { state: { ...state, phase: "attaching", received: attachMark(state) }, effects: [] };
    case "welcome":
      return welcome(state, input);
    case "acknowledged":
      return acknowledged(state, input.seqno);
    case "event":
      return receive(state, input);
    case "unnumbered":
      return state.degraded
        ? { state: { ...state, fruitless: 0 }, effects: [{ type: "surface" }] } // its end cannot be proved, nor resumed
        : diverge(state, "the gateway sent an event without an id");
    case "applied":
      return applied(state);
    case "started":
      return started(state, input.callId);
    case "given":
      return given(state, input);
    case "lost":
      if (state.phase === "lost") return { state, effects: [] };
      if (state.degraded)
        return { state: { ...state, phase: "ended" }, effects: [{ type: "forget" }, { type: "lost_for_good" }] };
      return { state: { ...state, phase: "lost", fruitless: state.fruitless + 1 }, effects: [] };
    case "refused":
      return {
        state: { ...state, phase: "ended" },
        effects: input.record === "keep" ? [] : [{ type: input.record }],
      };
    default:
      return input satisfies never;
  }
}

function welcome(state: StreamState, input: Welcome): StreamDecision {
  const { record, received, observes } = state;
  const read = laterOf(record.applied.eventId, state.floor);
  if (!observes && input.highestSeqno !== undefined && input.highestSeqno >= (record.sentBelow ?? record.nextSeqno))
    return diverge(state, "the gateway has accepted messages that this record does not know: it is an older copy");
  if (input.tailEventId !== undefined && isAfter(read, input.tailEventId))
    return diverge(state, "the gateway's log ends before what was read from it: it was restored from an older copy");
  const leastEpoch = observes ? record.epoch : record.epoch + 1; // an observer's attach is not counted
  if (input.epoch !== undefined && input.epoch < leastEpoch)
    return diverge(state, "the gateway counts fewer connections than there were: it was restored from an older copy");
  if (input.chainHead !== undefined && input.chainHead !== received.chain)
    return diverge(state, "the gateway's log is not the one that was read before");
  const next: StreamRecord = {
    ...record,
    created: true,
    sentBelow: record.nextSeqno,
    epoch: input.epoch ?? record.epoch,
    ticket: input.ticket ?? record.ticket,
  };
  return {
    state: { ...state, phase: "attached", degraded: input.degraded, record: next },
    effects: [{ type: "store" }, ...next.unacked.map((message) => ({ type: "send", message }) as const)],
  };
}

function acknowledged(state: StreamState, seqno: number): StreamDecision {
  const unacked = state.record.unacked.filter((message) => message.seqno !== seqno);
  if (unacked.length === state.record.unacked.length) return { state, effects: [] }; // acknowledged before
  return { state: { ...state, fruitless: 0, record: { ...state.record, unacked } }, effects: [{ type: "note" }] };
}

function applied(state: StreamState): StreamDecision {
  const { pending, record } = state;
  if (pending === undefined) return { state, effects: [] };
  if (pending.isEnd) return { state: { ...state, phase: "ended" }, effects: [{ type: "forget" }] };
  const moves = isAfter(pending.mark.eventId, record.applied.eventId);
  const next = moves ? settle({ ...record, applied: pending.mark }) : record;
  return {
    state: { ...state, pending: undefined, record: next },
    effects: next === record ? [] : [{ type: "note" }],
  };
}

function started(state: StreamState, callId: string): StreamDecision {
  const record = withCall(state.record, callId, "started");
  return record === undefined ? { state, effects: [] } : { state: { ...state, record }, effects: [{ type: "store" }] };
}

function given(state: StreamState, input: Extract<Input, { type: "given" }>): StreamDecision {
  const { callId, kind, payload } = input;
  const before = callId === undefined ? state.record : withCall(state.record, callId, "finished");
  if (before === undefined) return { state, effects: [] }; // the result is there already: one call has one result
  const message: OutgoingMessage = { seqno: before.nextSeqno, kind, payload };
  const nextSeqno = before.nextSeqno + 1;
  const isSent = state.phase === "attached";
  const record = settle({
    ...before,
    nextSeqno,
    sentBelow: isSent ? nextSeqno : before.sentBelow,
    unacked: [...before.unacked, message],
  });
  const send = isSent ? [{ type: "send", message } as const] : [];
  return { state: { ...state, record }, effects: [{ type: "store" }, ...send] };
}

/** The record with one call further on; undefined if the call is not open. */
function withCall(record: StreamRecord, callId: string, to: KnownCall["state"]): StreamRecord | undefined {
  if (!record.calls.some((call) => call.callId === callId && call.state !== "finished")) return undefined;
  return { ...record, calls: record.calls.map((call) => (call.callId === callId ? { ...call, state: to } : call)) };
}
