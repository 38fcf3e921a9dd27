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
