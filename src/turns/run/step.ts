import type { TurnEventBody } from "../../log/event.ts";

/**
 * One step of a turn's events on their way from the backend to the log: stop sequences, what the log holds already. One
 * instance a turn, given every event in order; the log gets the answer in place of the event: nothing while the step holds
 * text back, several events when one completes something.
 *
 * - A step is synchronous and waits for nothing. What has to be waited for is done by `exchange.ts`, between two batches.
 * - The same events, however their deltas and batches are cut, give the same events but for how deltas are cut. After a
 *   restart the answer is read again from its start, and `reconcile` drops what the log holds already.
 * - A step that answers a terminal event ends the turn, even where the upstream goes on; the upstream is then cancelled.
 * - A step never swallows `usage` and terminal events.
 */
export interface EventStage {
  push(body: TurnEventBody): readonly TurnEventBody[];
}

/** What the steps, in order, make of the events. */
export function through(steps: readonly EventStage[], events: readonly TurnEventBody[]): readonly TurnEventBody[] {
  return steps.reduce((bodies, step) => bodies.flatMap((body) => step.push(body)), events);
}
