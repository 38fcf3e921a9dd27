import { isMillraceError, MillraceError, toMillraceError, unsentPrompt } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { callFailure } from "../../language-server/errors/call-failure.ts";
import type { CallFailureKind } from "../../language-server/errors/symptoms.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { CurrentServer } from "../current-server.ts";
import { type CascadeTurn, readOtherwise, startFollowing } from "./follower.ts";
import { afterFailure, isOutage, noPolls, type PollHistory, pollFailure } from "./poll-schedule.ts";

/** Failures that prove that the server did not take the prompt, and that a second try can mend. */
const untaken: ReadonlySet<CallFailureKind> = new Set(["panel_state_missing", "not_sent", "unauthenticated"]);

/**
 * Sends a prompt, once. `unknown`: the connection broke or the deadline passed, and the server may have it or not. Sent again, once,
 * only after a failure that proves that the server did not take it: "panel state not found", or a server that cannot be reached or
 * refused the CSRF token, as after a restart, where the trajectory has no trace of the prompt either; a row in `docs/dev/turn-machine.md`.
 *
 * @throws MillraceError when the server certainly did not take it; with the reason `unsent_prompt` where the second try failed so too.
 */
export async function sendPrompt(turn: CascadeTurn, signal: AbortSignal): Promise<"accepted" | "unknown"> {
  const { current, cascadeId } = turn;
  const { text, instructions, images, modelUid, modelNumber, maxOutputTokens } = turn.prompt;
  const message = { cascadeId, text, instructions, images, modelUid, modelNumber, maxOutputTokens };
  const send = async () => {
    try {
      await current.server.sendUserMessage(message, signal);
      return "accepted";
    } catch (error) {
      signal.throwIfAborted();
      const kind = callFailure(error);
      if (kind === "interrupted") return "unknown";
      if (!untaken.has(kind)) throw error;
      return { kind, error };
    }
  };
  const first = await send();
  if (typeof first === "string") return first;
  try {
    if (first.kind === "panel_state_missing") await current.server.ensurePanelState({ force: true }, signal);
    else {
      await current.tryAgain(signal); // the look goes on looking for the server
      if ((await wasAccepted(turn, signal)) === "accepted") return "accepted";
    }
  } catch (error) {
    signal.throwIfAborted();
    throw unsent(error);
  }
  const second = await send();
  if (typeof second === "string") return second;
  throw unsent(second.error);
}

/** The error of a prompt that was not sent: a repetition may begin anew. */
function unsent(error: unknown): MillraceError {
  const record = toMillraceError(error).toRecord();
  const isGone = error instanceof Error && callFailure(error.cause) === "trajectory_missing";
  const message = isGone ? "The IDE's server lost this conversation before the prompt was sent." : record.message;
  return MillraceError.fromRecord({ ...record, message, details: { reason: unsentPrompt } }, error);
}

const betweenLooksMs = 100;
const leastLooks = 4;

/**
 * Whether the server accepted this turn's prompt. It did if the trajectory shows a user message, any step on a fresh trajectory,
 * or a run status that is not idle. An accepted message shows within a second. The result is `absent` only if the answers of
 * `acceptGraceMs` show nothing. Source: docs/dev/wire/cascade.md, "Time line of a turn".
 *
 * @throws MillraceError when the server cannot be reached, or no longer knows the trajectory.
 */
export async function wasAccepted(turn: CascadeTurn, signal: AbortSignal): Promise<"accepted" | "absent"> {
  const { follower, start, cascadeId, current, settings, options } = turn;
  const { clock, pace, acceptGraceMs } = settings;
  const now = () => clock.monotonic();
  let history: PollHistory = noPolls;
  let firstAnswerAtMs: number | undefined;
  for (let looks = 1; ; ) {
    try {
      const state = startFollowing(start);
      const snapshot = await follower.read(current.server, { cascadeId, state, now }, signal);
      const { view } = follower.follow(state, snapshot).state.progress;
      if (view.prompted || (start.fresh && view.entries > 0)) return "accepted";
      if (!(await isIdle(current, cascadeId, signal))) return "accepted";
      options.onAlive();
      history = noPolls;
      firstAnswerAtMs ??= now();
      if (looks >= leastLooks && now() - firstAnswerAtMs >= acceptGraceMs) return "absent";
      looks++;
      await clock.sleep(betweenLooksMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      const turned = readOtherwise(turn, error);
      if (turned !== undefined) return await wasAccepted(turned, signal);
      const retry = afterFailure(history, pollFailure(error), now(), pace);
      if (retry === undefined) throw goneError(error);
      history = retry.history;
      await clock.sleep(retry.waitMs, signal);
      if (isOutage(callFailure(error))) await current.tryAgain(signal); // the next look counts it
    }
  }
}

async function isIdle(current: CurrentServer, cascadeId: CascadeId, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await current.server.getStatus(cascadeId, signal);
    return status === CascadeRunStatus.IDLE || status === CascadeRunStatus.UNSPECIFIED;
  } catch (error) {
    if (callFailure(error) === "unimplemented") return true; // then only the steps can show it
    throw error;
  }
}

function goneError(error: unknown): unknown {
  if (isMillraceError(error) && error.code === "cancelled")
    return new MillraceError(
      "upstream_failed",
      "The IDE's server ended before it had the prompt for certain, and did not come back.",
      {
        hint: "Start the IDE, open a folder, then send the request again.",
        cause: error,
      },
    );
  if (callFailure(error) !== "trajectory_missing") return error;
  const message =
    "The IDE's server no longer has this conversation. Millrace cannot tell whether the prompt arrived, and did not send it again.";
  return new MillraceError("upstream_failed", message, { cause: error });
}
