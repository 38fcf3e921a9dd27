import type { TurnEventBody } from "../../log/event.ts";

/**
 * One step that a turn's events pass between the backend and the log, such as stop sequences. Each turn has its own instance, which
 * gets every event in order. The log gets the step's result: no event while the step holds text back, several when an event
 * completes something.
 *
 * - A step is synchronous. `exchange.ts` does everything that must wait, between two batches.
 * - The result does not depend on how deltas and batches are cut, except for the cuts of its own deltas. After a restart the answer
 *   is read again from its start, and `reconcile` drops the part that the log already holds.
 * - A step that returns a terminal event ends the turn, even if the upstream continues; the upstream is then cancelled.
 * - A step never swallows `usage` and terminal events.
 */
export interface Step {
  push(body: TurnEventBody): readonly TurnEventBody[];
}

/** What the steps, in order, make of the events. */
export function through(steps: readonly Step[], events: readonly TurnEventBody[]): readonly TurnEventBody[] {
  return steps.reduce((bodies, step) => bodies.flatMap((body) => step.push(body)), events);
}
