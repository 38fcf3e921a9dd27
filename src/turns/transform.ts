import type { TurnEventBody } from "../log/event.ts";

/**
 * Rewrites the events of one turn on their way from the backend to the log: a tool plan that turns text into calls, stop
 * sequences. One instance a turn, fed every event in order; what it answers is logged in place of the event: nothing while
 * it holds text back, several events when one completes something.
 *
 * - The same events, however their deltas are cut, give the same events but for how deltas are cut: after a restart the
 *   answer is fed again from its start, and what the log already holds is dropped from the result.
 * - Answering a terminal event ends the turn whatever the upstream still says; it is then cancelled and archived.
 * - `usage` and terminal events are never swallowed.
 */
export interface EventTransform {
  push(body: TurnEventBody): readonly TurnEventBody[];
}
