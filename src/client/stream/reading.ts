import { isAfter, type KnownCall, type Mark, type StreamRecord } from "../records/record.ts";
import {
  type CallOutcome,
  diverge,
  type ReceivedEvent,
  type StreamDecision,
  type StreamState,
} from "./stream-state.ts";

/** One event of the log: surfaced once in the life of the application, even if it is delivered several times. */
export function receive(state: StreamState, input: ReceivedEvent): StreamDecision {
  const { eventId, chain, event } = input;
  const mark: Mark = { eventId, chain, count: state.received.count + 1 };
  const problem = problemOf(state, input, mark);
  if (problem !== undefined) return diverge(state, problem);
  const seen = { ...state, received: mark };
  if (event.kind === "tool_call" && !state.observes) return receiveCall(seen, state.received, mark, event.callId);
  const isEnd = event.kind === "end";
  if (isAfter(eventId, laterOf(state.floor, state.surfaced.eventId))) return surface(seen, mark, { isEnd });
  // The application has kept the end already: only the record was left behind.
  return isEnd ? { state: { ...seen, phase: "ended" }, effects: [{ type: "forget" }] } : pass(seen, mark);
}

/** Why this event cannot be the next one of the log that was read before. Such an event is not shown. */
function problemOf(state: StreamState, { eventId, event }: ReceivedEvent, mark: Mark): string | undefined {
  const { received, record } = state;
  if (!isAfter(eventId, received.eventId)) return "the gateway sent an event twice or out of order";
  for (const known of [record.cursor, record.applied, state.surfaced]) {
    if (!isAfter(known.eventId, received.eventId)) continue; // passed already
    const isSame = known.eventId === eventId && known.chain === mark.chain && known.count === mark.count;
    if (!isSame && !isAfter(known.eventId, eventId)) return "the gateway's log is not the one that was read before";
  }
  if (event.kind === "end" && (event.countBefore !== received.count || event.chainBefore !== received.chain))
    return "the end of the stream does not belong to the events that were received";
  return undefined;
}

function receiveCall(state: StreamState, before: Mark, mark: Mark, callId: string): StreamDecision {
  const { record, handed, floor, surfaced } = state;
  if (handed.includes(mark.eventId)) return pass(state, mark);
  const known = record.calls.find(({ eventId }) => eventId === mark.eventId);
  const withHanded = { ...state, handed: [...handed, mark.eventId] };
  if (known === undefined && isAfter(mark.eventId, record.applied.eventId)) {
    const call: KnownCall = { callId, eventId: mark.eventId, state: "handed", before };
    return surface({ ...withHanded, record: { ...record, calls: [...record.calls, call] } }, mark, { call: "new" });
  }
  if (known !== undefined && known.state !== "finished")
    return surface(withHanded, mark, { call: known.state === "started" ? "unknown" : "new" });
  return isAfter(mark.eventId, laterOf(floor, surfaced.eventId))
    ? surface(withHanded, mark, { call: "finished" })
    : pass(state, mark);
}

interface SurfaceStep {
  readonly isEnd?: boolean;
  readonly call?: CallOutcome;
}

function surface(state: StreamState, mark: Mark, { isEnd = false, call }: SurfaceStep): StreamDecision {
  const isFurther = isAfter(mark.eventId, state.surfaced.eventId);
  return {
    state: {
      ...state,
      surfaced: isFurther ? mark : state.surfaced,
      pending: { mark, isEnd },
      fruitless: isFurther ? 0 : state.fruitless,
    },
    effects: [call === undefined ? { type: "surface" } : { type: "surface", call }],
  };
}

/** The application has it already: the record catches up where it had not been stored. */
function pass(state: StreamState, mark: Mark): StreamDecision {
  const surfaced = isAfter(mark.eventId, state.surfaced.eventId) ? mark : state.surfaced;
  const isBehind = isAfter(mark.eventId, state.record.applied.eventId) && !isAfter(mark.eventId, state.floor);
  const record = isBehind ? settle({ ...state.record, applied: mark }) : state.record;
  return { state: { ...state, surfaced, record }, effects: isBehind ? [{ type: "note" }] : [] };
}

/** Moves the cursor to the low-water mark, and drops the finished calls before it. */
export function settle(record: StreamRecord): StreamRecord {
  const open = record.calls.find(({ state }) => state !== "finished");
  const cursor = open === undefined || isAfter(open.eventId, record.applied.eventId) ? record.applied : open.before;
  return { ...record, cursor, calls: record.calls.filter(({ eventId }) => isAfter(eventId, cursor.eventId)) };
}

/** The later one of two events. */
export function laterOf(eventId: string, other: string): string {
  return isAfter(eventId, other) ? eventId : other;
}
