import { bestEffort, deadline, timeLimit } from "../../base/async.ts";
import { lostPrompt, MillraceError, toMillraceError } from "../../base/errors.ts";
import type { CascadeId } from "../../base/ids.ts";
import { callFailure } from "../../language-server/errors/call-failure.ts";
import { errorFromDetails, errorFromText } from "../../language-server/errors/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import { lostPanel } from "../../language-server/panel-state.ts";
import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import { emptyAnswer } from "../answer-diff.ts";
import type { Batch, Prompt, ResumePoint, RunOptions } from "../backend.ts";
import { CurrentServer, type ServerSource } from "../current-server.ts";
import { estimatedUsage, summedUsage } from "../turn-usage.ts";
import { followCascade } from "./follow-cascade.ts";
import type { CascadeSettings, CascadeTurn, StartPoint } from "./follower.ts";
import { sendPrompt, wasAccepted } from "./send-prompt.ts";

interface CascadeServer {
  readonly source: ServerSource;
  readonly server: LanguageServer;
}

/** A trajectory that a turn has, and how far the turn went, for the clean-up at its end. */
interface CascadeSession {
  cascadeId: CascadeId | undefined;
  /** The server may be working on the prompt. */
  prompted: boolean;
  ended: "no" | "finished" | "otherwise";
  /** The caller has received the end event, and owns a trajectory that is kept. */
  handedOver?: boolean;
  /** The turn was stopped before the caller could store the id, so the trajectory cannot be resumed. */
  unannounced?: boolean;
  /** The clean-up, once it has begun. */
  cleaning?: Promise<void>;
}

const cleanUpMs = 5_000;
const usageMs = 2_000;

/**
 * Runs one turn: the contract of `Backend.run`, and of `Backend.resume` if there is a `from`. Yields each poll as one batch. Errors
 * become `failed`, an abort ends the turn without an event, and the trajectory is cleaned up in every case. The usage precedes the
 * terminal event in its batch. A turn whose log has the terminal event is never resumed. So before that event the clean-up has begun,
 * and any work that continues on the server is cancelled.
 */
export async function* runCascade(
  { source, server, ...way }: Pick<CascadeTurn, "follower" | "otherwise" | "settings"> & CascadeServer,
  { from, ...asked }: Pick<CascadeTurn, "prompt" | "options"> & { readonly from: ResumePoint | undefined },
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const { settings } = way;
  const { prompt, options } = asked;
  const current = new CurrentServer(source, server);
  const session: CascadeSession = { cascadeId: from?.cascadeId, prompted: from !== undefined, ended: "no" };
  const turnAt = (cascadeId: CascadeId, at: Pick<StartPoint, "fromStep" | "sent">): CascadeTurn => {
    const start = startPoint(prompt, settings, current, at);
    return { ...way, ...asked, start, cascadeId, current };
  };
  const leave = settings.pacer.enter(); // also while it begins: of many turns that begin at once, the first would poll as if they were few
  try {
    let turn: CascadeTurn;
    if (from === undefined) {
      const begun = await begin(current, prompt, session, signal);
      yield [startedEvent(prompt, begun, current)]; // asked to go on only once this is stored: that is why no prompt is sent twice
      signal.throwIfAborted();
      turn = turnAt(begun.cascadeId, { fromStep: begun.fromStep, sent: emptyAnswer });
      session.prompted = true;
      await send(turn, signal);
    } else {
      if (from.cascadeId === undefined) throw new MillraceError("upstream_failed", noTrajectoryMessage);
      const sent = { text: from.text, thinking: from.thinking };
      turn = turnAt(from.cascadeId, { fromStep: from.fromStep ?? 0, sent });
      await sendUnlessAccepted(turn, from, signal);
    }
    const { cascadeId, start } = turn;
    let { thinking } = start.sent;
    let early: ReturnType<typeof readUsage> | undefined;
    const beforePoll = (mayEnd: boolean) => {
      early = mayEnd ? readUsage(current, cascadeId, start.fromStep, signal) : undefined; // together with that poll
      if (early !== undefined) void bestEffort(early);
    };
    for await (const batch of followCascade(turn, beforePoll, signal)) {
      for (const event of batch) if (event.type === "thinking") thinking += event.delta;
      const end = batch.at(-1);
      if (end === undefined || !isTerminal(end)) {
        yield batch;
        continue;
      }
      if (batch.length > 1) yield batch.slice(0, -1);
      session.ended = end.type === "finished" ? "finished" : "otherwise";
      const usage = early ?? readUsage(current, cascadeId, start.fromStep, signal);
      const cleaning = cleanUp(session, current, options, signal);
      const [reported] = await Promise.all([usage, session.ended === "otherwise" ? cleaning : undefined]);
      session.handedOver = true;
      if (reported !== undefined) yield [reported, end];
      else if (end.type === "finished") yield [estimatedUsage(prompt, { text: end.text, thinking }), end];
      else yield [end];
    }
  } catch (error) {
    if (signal.aborted) return;
    session.ended = "otherwise";
    yield [{ type: "failed", error: toMillraceError(error).toRecord() }];
  } finally {
    leave();
    const keep = options.keep && session.handedOver === true;
    await cleanUp(session, current, { ...options, keep }, signal);
  }
}

function startedEvent(
  { modelUid }: Prompt,
  { cascadeId, fromStep }: { readonly cascadeId: CascadeId; readonly fromStep: number },
  current: CurrentServer,
): TurnEventBody {
  const ide = current.server.endpoint.variant;
  return { type: "started", modelUid, backend: "cascade", cascadeId, ide, ...(fromStep === 0 ? {} : { fromStep }) };
}

/** Sends the prompt, and makes sure that it arrived. */
async function send(turn: CascadeTurn, signal: AbortSignal): Promise<void> {
  if ((await sendPrompt(turn, signal)) === "accepted") return;
  if ((await wasAccepted(turn, signal)) === "absent")
    throw new MillraceError("upstream_failed", lostSendMessage, { details: { reason: lostPrompt } });
}

/** Sends the prompt of a turn that another process began, only if the server certainly never accepted it. */
async function sendUnlessAccepted(turn: CascadeTurn, from: ResumePoint, signal: AbortSignal): Promise<void> {
  const { current } = turn;
  await current.twice((server) => server.ensurePanelState({ force: false }, signal), signal);
  if ((await wasAccepted(turn, signal)) === "accepted") return;
  if (from.answered === true || from.text !== "" || from.thinking !== "")
    throw new MillraceError("upstream_failed", vanishedMessage);
  await send(turn, signal);
}

/** The trajectory of the turn: a fresh one, or the one that goes on. Nothing is sent yet, so all of it may be done twice. */
async function begin(
  current: CurrentServer,
  prompt: Prompt,
  session: CascadeSession,
  signal: AbortSignal,
): Promise<{ readonly cascadeId: CascadeId; readonly fromStep: number }> {
  const { continues } = prompt;
  if (continues !== undefined) {
    await current.twice((server) => server.ensurePanelState({ force: false }, signal), signal);
    const fromStep = await stepsOfIdle(current.server, continues, signal);
    session.cascadeId = continues;
    return { cascadeId: continues, fromStep };
  }
  const whole = new AbortController().signal; // a call that is cut would leave a trajectory whose id is unknown
  const start = async (server: LanguageServer) => {
    signal.throwIfAborted();
    await server.ensurePanelState({ force: false }, signal);
    return await server.startCascade(whole);
  };
  const makePanelAnew = async (error: unknown) => {
    if (!lostPanel(error)) return false;
    await current.server.ensurePanelState({ force: true }, signal);
    return true;
  };
  const cascadeId = await current.twice(start, signal, makePanelAnew);
  session.cascadeId = cascadeId;
  if (signal.aborted) session.unannounced = true; // `started` is given all the same: the trajectory is noted before it is archived
  return { cascadeId, fromStep: 0 };
}

/** How many steps the trajectory has. Throws if it is busy, where the build tells that. */
async function stepsOfIdle(server: LanguageServer, cascadeId: CascadeId, signal: AbortSignal): Promise<number> {
  try {
    const { status, totalSteps } = await server.getStatus(cascadeId, signal);
    if (status !== CascadeRunStatus.IDLE) throw new MillraceError("upstream_failed", busyMessage);
    return totalSteps;
  } catch (error) {
    if (callFailure(error) !== "unimplemented") throw error;
    return await countSteps(server, cascadeId, signal);
  }
}

async function countSteps(server: LanguageServer, cascadeId: CascadeId, signal: AbortSignal): Promise<number> {
  try {
    return (await server.getTranscript(cascadeId, 0, signal)).numTotalSteps;
  } catch (error) {
    if (callFailure(error) !== "unimplemented") throw error;
    return (await server.getSteps(cascadeId, 0, signal)).length;
  }
}

async function readUsage(current: CurrentServer, cascadeId: CascadeId, fromStep: number, signal: AbortSignal) {
  try {
    const entries = await current.server.getGeneratorMetadata(cascadeId, 0, deadline(signal, usageMs));
    return summedUsage(entries, fromStep);
  } catch {
    signal.throwIfAborted();
    return undefined; // counted here then; the answer is what matters
  }
}

/** Begins once. A trajectory that was found to have ended is only archived. */
async function cleanUp(
  session: CascadeSession,
  current: CurrentServer,
  options: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  if (session.cleaning !== undefined) return await session.cleaning;
  const { cascadeId, prompted, ended, unannounced } = session;
  if (cascadeId === undefined) return;
  if (signal.aborted && signal.reason === "detach" && unannounced !== true) return;
  if (options.keep && ended === "finished") return;
  const { server } = current;
  const limit = timeLimit(cleanUpMs); // the turn's own signal may have aborted
  const archive = () => bestEffort(server.archive(cascadeId, limit), () => options.onLeft?.(cascadeId));
  const stop = () => bestEffort(server.cancel(cascadeId, limit)).then(archive);
  session.cleaning = prompted && ended !== "finished" ? stop() : archive();
  await session.cleaning;
}

function startPoint(
  prompt: Prompt,
  { clock, ideTools }: CascadeSettings,
  current: CurrentServer,
  at: Pick<StartPoint, "fromStep" | "sent">,
): StartPoint {
  return {
    ...at,
    fresh: prompt.continues === undefined,
    prompt: prompt.text,
    errorOf: (details) => {
      const context = { nowMs: clock.now(), secrets: [current.server.endpoint.csrfToken] };
      return typeof details === "string" ? errorFromText(details, context) : errorFromDetails(details, context);
    },
    ideTools,
  };
}

const lostSendMessage =
  "The connection to the IDE's server broke before the prompt arrived. Millrace did not send the prompt again.";
const vanishedMessage = "The IDE's server lost this conversation. The part that arrived was kept.";
const noTrajectoryMessage =
  "The gateway stopped while this turn ran, and this kind of turn cannot be continued. The prompt was not sent again.";
const busyMessage = "The IDE is still busy with the conversation to continue.";
