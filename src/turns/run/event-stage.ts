import type { TurnEventBody } from "../../log/event.ts";

/**
 * One stage of a turn's events on their way from the backend to the log: stop sequences, what the log holds already. One
 * instance a turn, given every event in order; the log gets the answer in place of the event: nothing while the stage holds
 * text back, several events when one completes something.
 *
 * - A stage is synchronous and waits for nothing. What has to be waited for is done by `exchange.ts`, between two batches.
 * - The same events, however their deltas and batches are cut, give the same events but for how deltas are cut. After a
 *   restart the answer is read again from its start, and `reconcile` drops what the log holds already.
 * - A stage that answers a terminal event ends the turn, even where the upstream goes on; the upstream is then cancelled.
 * - A stage never swallows `usage` and terminal events.
 */
export interface EventStage {
  push(body: TurnEventBody): readonly TurnEventBody[];
}

/** What the stages, in order, make of the events. */
export function through(stages: readonly EventStage[], events: readonly TurnEventBody[]): readonly TurnEventBody[] {
  return stages.reduce((bodies, stage) => bodies.flatMap((body) => stage.push(body)), events);
}
