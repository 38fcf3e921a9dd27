import { type ErrorRecord, MillraceError, toMillraceError } from "../../base/errors.ts";
import { callFailure } from "../../language-server/errors/call-failure.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { Batch } from "../backend.ts";
import type { CurrentServer } from "../current-server.ts";
import { type CascadeTurn, readOtherwise, startFollowing } from "./follower.ts";
import { afterAnswer, afterFailure, isOutage, noPolls, type PollHistory, pollFailure } from "./poll-schedule.ts";
import { checkpointMs, isConfirming, patienceMs, stopped, stoppedHint, wantsRun } from "./turn-progress.ts";
import type { RunSnapshot } from "./turn-view.ts";

/**
 * Polls a turn to its end and yields each poll's news as one batch; the last event is terminal. Polls do not overlap, and each asks
 * only for the parts that may have changed. Rejects with the signal's reason as soon as the signal aborts.
 */
export async function* followCascade(
  turn: CascadeTurn,
  /** Called before each poll; `mayEnd`: the poll may show the turn's end. */
  beforePoll: ((mayEnd: boolean) => void) | undefined,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const { follower, start, cascadeId, current } = turn;
  const { clock, pace, pacer, silenceMs } = turn.settings;
  const { onAlive } = turn.options;
  let state = startFollowing(start);
  let history: PollHistory = noPolls;
  let detours = 0;
  const now = () => clock.monotonic();
  const startedAtMs = now();
  for (;;) {
    const askedAtMs = now();
    const events: TurnEventBody[] = [];
    let failure: unknown;
    beforePoll?.(state.progress.phase === "closing");
    try {
      const followed = follower.follow(state, await follower.read(current.server, { cascadeId, state, now }, signal));
      events.push(...followed.events);
      state = followed.state;
      onAlive();
      if (!state.mustReread && wantsRun(state.progress, now())) {
        const run = await readRun(turn, now, signal);
        state = follower.follow(state, run).state;
        onAlive();
      }
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    const turned = readOtherwise(turn, failure);
    if (turned !== undefined) {
      const from = { ...start, sent: state.progress.sent };
      return yield* followCascade({ ...turned, start: from }, beforePoll, signal);
    }
    const readAtMs = now();
    if (events.length > 0) yield events;
    if (events.some(isTerminal)) return;

    if (failure === undefined) {
      const { progress } = state;
      const confirming = isConfirming(progress);
      const answeredAtMs = confirming ? readAtMs : now(); // the poll that confirms does not wait until its batch is stored
      const quietMs = answeredAtMs - (progress.changedAtMs ?? startedAtMs);
      const ageMs = answeredAtMs - startedAtMs;
      const length = progress.sent.text.length + progress.sent.thinking.length;
      const confirmMs = confirming ? checkpointMs : undefined;
      const after = afterAnswer(history, { askedAtMs, answeredAtMs, ageMs, quietMs, confirmMs, length }, pace);
      history = after.history;
      const isDetour = state.mustReread || (progress.phase === "closing" && !confirming);
      detours = isDetour ? detours + 1 : 0;
      if (isDetour && detours < 4) continue;
      const longestMs = patienceMs(progress, silenceMs);
      if (quietMs >= longestMs) {
        yield [{ type: "failed", error: silenceError(longestMs, length > 0) }];
        return;
      }
      await pacer.untilDue(after.next, signal);
    } else {
      const retry = afterFailure(history, pollFailure(failure), now(), pace);
      if (retry === undefined) {
        yield [{ type: "failed", error: lostError(failure, current) }];
        return;
      }
      history = retry.history;
      await clock.sleep(retry.waitMs, signal);
      if (isOutage(callFailure(failure))) await current.tryAgain(signal); // the next poll fails where it is not found, and that uses its budget
    }
  }
}

async function readRun(
  { start, cascadeId, current }: Pick<CascadeTurn, "start" | "cascadeId" | "current">,
  now: () => number,
  signal: AbortSignal,
): Promise<RunSnapshot> {
  const { restarted, server } = current;
  try {
    const { status, executors } = await server.getStatus(cascadeId, signal);
    const ended = executors.filter(
      (executor) =>
        executor.terminationReason !== ExecutorTerminationReason.UNSPECIFIED &&
        (start.fresh || executor.lastStepIdx >= start.fromStep),
    );
    return { kind: "run", atMs: now(), status, executors: ended, restarted };
  } catch (error) {
    if (callFailure(error) !== "unimplemented") throw error;
    return { kind: "run", atMs: now(), status: undefined, executors: [], restarted };
  }
}

function silenceError(silenceMs: number, hasPart: boolean): ErrorRecord {
  const minutes = Math.round(silenceMs / 60_000);
  const span = minutes > 0 ? `${minutes} min` : `${silenceMs} ms`;
  const kept = hasPart ? " The part that arrived was kept." : "";
  const message = `The IDE's server answered, but the turn showed no sign of life for ${span}, so it was given up.${kept}`;
  return new MillraceError("upstream_timeout", message).toRecord();
}

function lostError(failure: unknown, current: CurrentServer): ErrorRecord {
  const kind = callFailure(failure);
  if (kind === "trajectory_missing") {
    const [message, more] = current.restarted
      ? ["The IDE's server restarted and no longer knows this conversation.", {}]
      : ["This conversation was deleted in the IDE while it was answered.", { hint: stoppedHint, details: stopped }];
    const kept = `${message} The part that arrived was kept.`;
    return new MillraceError("upstream_failed", kept, { ...more, cause: failure }).toRecord();
  }
  if (isOutage(kind)) {
    const message = "The IDE's server ended during the answer and did not come back. The part that arrived was kept.";
    const hint = "Start the IDE, open a folder, then send the request again. That costs another prompt.";
    return new MillraceError("upstream_failed", message, { hint, cause: failure }).toRecord();
  }
  return toMillraceError(failure).toRecord();
}
