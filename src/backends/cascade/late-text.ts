import type { CascadeTurn, FollowerState } from "./follower.ts";

/** Some builds write the rest of an answer after its checkpoint, half a second later: a later look comes this long after it. */
export const lateTextMs = 1_000;

/** Its last reading was not of one piece: read once more, this often at most. */
const mostReadings = 4;

/** The text of the turn's answer as the server has it now; undefined once another message follows it. */
export async function readAnswerNow<State extends FollowerState, Snapshot>(
  { follower, start, cascadeId, current }: CascadeTurn<State, Snapshot>,
  now: () => number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let state = follower.start({ ...start, sent: { text: "", thinking: "" } });
  for (let reading = 0; reading < mostReadings; reading++) {
    state = follower.follow(state, await follower.read(current.server, { cascadeId, state, now }, signal)).state;
    if (!state.mustReread) break;
  }
  const { view } = state.progress;
  return state.mustReread || view.overtaken || view.cut ? undefined : view.answer.text;
}
