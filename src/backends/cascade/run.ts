import { bestEffort, deadline } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError, toMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { callFailure } from "../../language-server/call-failure.ts";
import { errorFromDetails } from "../../language-server/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import { type Answer, emptyAnswer } from "../answer-diff.ts";
import type { Prompt, ResumePoint, RunOptions } from "../backend.ts";
import { Reach, type ServerSource } from "../reach.ts";
import { estimatedUsage, reportedUsage } from "../turn-usage.ts";
import { followTurn } from "./follow-turn.ts";
import type { Follower, FollowerState, StartPoint } from "./follower.ts";
import { sendPrompt, wasAccepted } from "./send-prompt.ts";
import type { CascadeSettings } from "./settings.ts";

export interface CascadeParts {
  readonly source: ServerSource;
  readonly server: LanguageServer;
  readonly settings: CascadeSettings;
}

/** A trajectory that a turn has, and how far the turn went, for the clean-up at its end. */
interface Held {
  cascadeId: CascadeId | undefined;
  /** The server may be working on the prompt. */
  prompted: boolean;
  ended: "no" | "finished" | "otherwise";
  /** Its end was handed on: whoever keeps it knows that it is his. */
  told?: boolean;
  /** Nobody will come back to it: its id was never told. */
  untold?: boolean;
  cleaned: boolean;
}

const cleanUpMs = 5_000;
const usageMs = 2_000;

/** One turn from its beginning: the contract of `Backend.run`. */
export async function* runCascade<State extends FollowerState, Snapshot>(
  follower: Follower<State, Snapshot>,
  { source, server, settings }: CascadeParts,
  prompt: Prompt,
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<TurnEventBody, void> {
  const reach = new Reach(source, server);
  const held: Held = { cascadeId: undefined, prompted: false, ended: "no", cleaned: false };
  yield* guarded(held, reach, options, signal, async function* () {
    const { cascadeId, fromStep } = await begin(reach, prompt, held, signal);
    const { modelUid } = prompt;
    const ide = reach.server.endpoint.variant;
    yield { type: "started", modelUid, backend: "cascade", cascadeId, ide, ...(fromStep === 0 ? {} : { fromStep }) };
    signal.throwIfAborted();

    const start = startPoint(prompt, fromStep, emptyAnswer, settings.clock, reach);
    held.prompted = true;
    if ((await sendPrompt(reach, cascadeId, prompt, signal)) === "unknown") {
      const accepted = await wasAccepted(follower, start, cascadeId, reach, acceptance(settings, options), signal);
      if (accepted === "absent") throw new MillraceError("upstream_failed", lostSendMessage);
    }
    yield* follow(follower, start, held, cascadeId, reach, prompt, settings, options, signal);
  });
}

/** A turn that another process began: the contract of `Backend.resume`. */
export async function* resumeCascade<State extends FollowerState, Snapshot>(
  follower: Follower<State, Snapshot>,
  { source, server, settings }: CascadeParts,
  prompt: Prompt,
  from: ResumePoint,
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<TurnEventBody, void> {
  const reach = new Reach(source, server);
  const held: Held = { cascadeId: from.cascadeId, prompted: true, ended: "no", cleaned: false };
  yield* guarded(held, reach, options, signal, async function* () {
    const { cascadeId } = from;
    if (cascadeId === undefined) throw new MillraceError("upstream_failed", noTrajectoryMessage);
    await reach.twice((server) => server.ensurePanelState({ force: false }, signal), signal);
    const sent = { text: from.text, thinking: from.thinking };
    const start = startPoint(prompt, from.fromStep ?? 0, sent, settings.clock, reach);
    const accepted = await wasAccepted(follower, start, cascadeId, reach, acceptance(settings, options), signal);
    if (accepted === "absent") {
      if (from.answered === true || from.text !== "" || from.thinking !== "")
        throw new MillraceError("upstream_failed", vanishedMessage);
      if ((await sendPrompt(reach, cascadeId, prompt, signal)) === "unknown") {
        const now = await wasAccepted(follower, start, cascadeId, reach, acceptance(settings, options), signal);
        if (now === "absent") throw new MillraceError("upstream_failed", lostSendMessage);
      }
    }
    yield* follow(follower, start, held, cascadeId, reach, prompt, settings, options, signal);
  });
}

/** Runs the body; errors become `failed`, an abort ends it without a word, and the trajectory is cleaned up, whatever happens. */
async function* guarded(
  held: Held,
  reach: Reach,
  options: RunOptions,
  signal: AbortSignal,
  body: () => AsyncGenerator<TurnEventBody, void>,
): AsyncGenerator<TurnEventBody, void> {
  try {
    for await (const event of body()) {
      if (isTerminal(event)) {
        held.ended = event.type === "finished" ? "finished" : "otherwise";
        held.told = true;
      }
      yield event;
    }
  } catch (error) {
    if (signal.aborted) return;
    held.ended = "otherwise";
    yield { type: "failed", error: toMillraceError(error).toRecord() };
  } finally {
    const keep = options.keep && held.told === true;
    await cleanUp(held, reach, { ...options, keep }, signal);
  }
}

/** The trajectory of the turn: a fresh one, or the one that goes on. Nothing is sent yet, so all of it may be done twice. */
async function begin(
  reach: Reach,
  prompt: Prompt,
  held: Held,
  signal: AbortSignal,
): Promise<{ readonly cascadeId: CascadeId; readonly fromStep: number }> {
  const { continues } = prompt;
  if (continues !== undefined) {
    await reach.twice((server) => server.ensurePanelState({ force: false }, signal), signal);
    const { status, totalSteps } = await reach.server.getStatus(continues, signal);
    if (status !== CascadeRunStatus.IDLE) throw new MillraceError("upstream_failed", busyMessage);
    held.cascadeId = continues;
    return { cascadeId: continues, fromStep: totalSteps };
  }
  const whole = new AbortController().signal; // a call that is cut leaves a trajectory behind whose id nobody got
  const start = async (server: LanguageServer) => {
    signal.throwIfAborted();
    await server.ensurePanelState({ force: false }, signal);
    try {
      return await server.startCascade(whole);
    } catch (error) {
      if (callFailure(error) !== "panel_state_missing") throw error;
      await server.ensurePanelState({ force: true }, signal);
      return await server.startCascade(whole);
    }
  };
  const cascadeId = await reach.twice(start, signal);
  held.cascadeId = cascadeId;
  if (signal.aborted) held.untold = true;
  signal.throwIfAborted();
  return { cascadeId, fromStep: 0 };
}

/**
 * Follows to the end; what the turn used comes just before its terminal event. The trajectory is cleaned up before that
 * event too: once the log has it nobody comes back to this turn, not even after a crash.
 */
async function* follow<State extends FollowerState, Snapshot>(
  follower: Follower<State, Snapshot>,
  start: StartPoint,
  held: Held,
  cascadeId: CascadeId,
  reach: Reach,
  prompt: Prompt,
  settings: CascadeSettings,
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<TurnEventBody, void> {
  let thinking = start.sent.thinking;
  const { onAlive } = options;
  for await (const event of followTurn(follower, start, cascadeId, reach, { ...settings, onAlive }, signal)) {
    if (event.type === "thinking") thinking += event.delta;
    if (isTerminal(event)) {
      held.ended = event.type === "finished" ? "finished" : "otherwise";
      const usage = readUsage(reach, cascadeId, start.fromStep, signal);
      const [reported] = await Promise.all([usage, cleanUp(held, reach, options, signal)]);
      if (reported !== undefined) yield reported;
      else if (event.type === "finished") yield estimatedUsage(prompt, { text: event.text, thinking });
    }
    yield event;
  }
}

async function readUsage(reach: Reach, cascadeId: CascadeId, fromStep: number, signal: AbortSignal) {
  try {
    const entries = await reach.server.getGeneratorMetadata(cascadeId, 0, deadline(signal, usageMs));
    return reportedUsage(entries, fromStep);
  } catch {
    signal.throwIfAborted();
    return undefined; // counted here then; the answer is what matters
  }
}

async function cleanUp(held: Held, reach: Reach, options: RunOptions, signal: AbortSignal): Promise<void> {
  const { cascadeId, prompted, ended, untold, cleaned } = held;
  if (cleaned || cascadeId === undefined) return;
  if (signal.aborted && signal.reason === "detach" && untold !== true) return;
  if (options.keep && ended === "finished") return;
  held.cleaned = true;
  const cleaning = deadline(new AbortController().signal, cleanUpMs); // the turn's own signal may have aborted
  if (prompted && ended !== "finished") await bestEffort(reach.server.cancel(cascadeId, cleaning));
  await bestEffort(reach.server.archive(cascadeId, cleaning));
}

function startPoint(prompt: Prompt, fromStep: number, sent: Answer, clock: Clock, reach: Reach): StartPoint {
  return {
    fromStep,
    fresh: prompt.continues === undefined,
    sent,
    prompt: prompt.text,
    errorOf: (details) => errorFromDetails(details, { nowMs: clock.now(), secrets: [reach.server.endpoint.csrfToken] }),
  };
}

function acceptance({ clock, pace, acceptGraceMs }: CascadeSettings, { onAlive }: RunOptions) {
  return { clock, pace, graceMs: acceptGraceMs, onAlive };
}

const lostSendMessage =
  "The connection to the IDE's server broke while the prompt was sent, and it did not arrive; it was not sent again.";
const vanishedMessage = "The IDE's server lost this conversation; what had arrived of the answer was kept.";
const noTrajectoryMessage =
  "The gateway stopped while this turn ran without a trajectory, so it cannot go on; the prompt was not sent again.";
const busyMessage = "The conversation to go on with is busy in the IDE.";
