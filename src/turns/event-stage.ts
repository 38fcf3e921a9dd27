import { isTerminal, type TerminalEvent, type TurnEventBody } from "../log/event.ts";

/**
 * One stage that a turn's events pass between the backend and the log, such as stop sequences. Each turn has its own instance, which
 * gets every event in order. The log gets the stage's result: no event while the stage holds text back, several when an event
 * completes something.
 *
 * - A stage is synchronous. `exchange.ts` does everything that must wait, between two batches.
 * - The result does not depend on how deltas and batches are cut, except for the cuts of its own deltas. After a restart the answer
 *   is read again from its start, and `reconcile` drops the part that the log already holds.
 * - A stage that returns a terminal event ends the turn, even if the upstream continues; the upstream is then cancelled.
 * - A stage never swallows `usage` and terminal events.
 */
export interface EventStage {
  push(body: TurnEventBody): readonly TurnEventBody[];
}

/** Passes events through the stages, in order. */
export function through(stages: readonly EventStage[], events: readonly TurnEventBody[]): readonly TurnEventBody[] {
  return stages.reduce((bodies, stage) => bodies.flatMap((body) => stage.push(body)), events);
}

/** An answer that passes unchanged. It keeps the end back, for `exchange.ts` to act on before it is logged. */
export class PlainAnswer implements EventStage {
  end: TerminalEvent | undefined;

  push(event: TurnEventBody): readonly TurnEventBody[] {
    if (this.end !== undefined) return [];
    if (!isTerminal(event)) return [event];
    this.end = event;
    return [];
  }
}

/** Joins neighbouring deltas of one kind: events of one poll become as few as they can be. Pure. */
export function mergeDeltas(bodies: readonly TurnEventBody[]): readonly TurnEventBody[] {
  if (bodies.length < 2) return bodies;
  const merged: TurnEventBody[] = [];
  for (const body of bodies) {
    const last = merged.at(-1);
    const joined = last === undefined ? undefined : join(last, body);
    if (joined === undefined) merged.push(body);
    else merged[merged.length - 1] = joined;
  }
  return merged;
}

function join(a: TurnEventBody, b: TurnEventBody): TurnEventBody | undefined {
  if (a.type === "text" && b.type === "text") return { type: "text", delta: a.delta + b.delta };
  if (a.type === "thinking" && b.type === "thinking") return { type: "thinking", delta: a.delta + b.delta };
  if (a.type === "tool_call" && b.type === "tool_call" && a.callId === b.callId && !a.done) {
    return { ...b, argumentsDelta: a.argumentsDelta + b.argumentsDelta };
  }
  return undefined;
}
