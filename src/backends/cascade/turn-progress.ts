import { type ErrorRecord, MillraceError, stoppedInIde, unusableAnswer } from "../../base/errors.ts";
import type { FinishReason, TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus, ExecutorTerminationReason } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { AnswerSoFar } from "../answer-diff.ts";
import { type SentAnswer, sendParts, sentBefore } from "./answer-parts.ts";
import { type ErrorOf, emptyView, type RunSnapshot, sameView, type TurnView } from "./turn-view.ts";

/**
 * The progress of a turn, for both ways to read its trajectory.
 *
 * - `following` becomes `closing` when the server seems to have ended the turn.
 * - `closing` becomes `ended` after the whole turn was read once more, because the server rewrites text at the end and may have
 *   written between two answers of one poll.
 * - `closing` becomes `following` again if that last reading shows that the answer still grows. If the server does not report the
 *   run, `closing` is a guess from the checkpoint; then any change makes the turn `following` again.
 */
export interface TurnProgress {
  readonly phase: "following" | "closing" | "ended";
  readonly sent: SentAnswer;
  readonly view: TurnView;
  readonly run: RunSnapshot | undefined;
  /** Monotonic ms of the last sign of life; of the first snapshot before any. */
  readonly changedAtMs: number | undefined;
  /** The number of idle reports in a row while the view stayed the same, and the time of the first. */
  readonly idleReports: number;
  readonly idleSinceMs: number;
}

/**
 * Ends a finished answer after the status was idle for this long, in two polls.
 * Source: docs/dev/wire/cascade.md, "Time line of a turn".
 */
const quietIdleMs = 400;
/** The same while an answer is missing or open: a server is idle for up to 600 ms after a send, and one client waits 8 s. */
const lostIdleMs = 10_000;
const lostIdleReports = 4;
/** The same after a restart of the server. */
const restartedIdleMs = 1_000;
/** Where the server does not tell its status: a checkpoint that stands last this long ends the turn. Some builds write text for half a second after it. */
export const checkpointMs = 1_000;
/** Where it tells neither its status nor the end of a text: a text that rests is no whole answer, and is given up after this long. */
const restMs = 5 * 60_000;
/** Without any sign of life for this long, the run status is asked at every poll. */
const askAfterMs = 1_000;
/** But no more often than this. */
const askEveryMs = 250;

/** A turn's progress at its start. `sent`: the answer passed on before (empty, or the part in the log). */
export function startProgress(sent: AnswerSoFar): TurnProgress {
  return {
    phase: "following",
    sent: sentBefore(sent),
    view: emptyView,
    run: undefined,
    changedAtMs: undefined,
    idleReports: 0,
    idleSinceMs: 0,
  };
}

/** Applies the trajectory's current view. `whole`: the turn was read from its start, so a closing turn can end. */
// oxlint-disable-next-line max-params -- every poll comes through here, so no object is made for one call
export function advance(
  progress: TurnProgress,
  view: TurnView,
  atMs: number,
  whole: boolean,
  errorOf: ErrorOf,
): {
  readonly events: readonly TurnEventBody[];
  readonly progress: TurnProgress;
} {
  if (progress.phase === "ended") return { events: [], progress };
  const changed = progress.changedAtMs === undefined || !sameView(progress.view, view);
  const grows = growing(view) && view.error === undefined && !view.overtaken;
  const reopened = changed && (grows || isConfirming(progress));
  const closing = progress.phase === "closing" && !reopened;
  const waits = !changed && isConfirming(progress) && atMs - (progress.changedAtMs ?? atMs) < checkpointMs;
  const ends = (closing && whole && !waits) || view.tool !== undefined || view.cut;
  const conclusion = ends ? conclude(view, progress.run, errorOf) : undefined;
  const settled = conclusion?.type === "finished";
  const diff = sendParts(progress.sent, view.parts, { atMs, flush: conclusion !== undefined, settled });
  return {
    events: conclusion === undefined ? diff.events : [...diff.events, conclusion],
    progress: {
      ...progress,
      phase: ends ? "ended" : closing ? "closing" : "following",
      sent: diff.sent,
      view,
      changedAtMs: changed ? atMs : progress.changedAtMs,
      ...(changed ? { idleReports: 0 } : {}),
    },
  };
}

/** Applies the server's run status, and decides whether the turn is over. */
export function report(progress: TurnProgress, run: RunSnapshot): TurnProgress {
  if (progress.phase !== "following") return progress;
  const idle = run.status === undefined ? looksOver(progress.view) : run.status === CascadeRunStatus.IDLE;
  if (!idle) {
    const phase = progress.view.overtaken ? "closing" : "following";
    return { ...progress, phase, run, idleReports: 0 };
  }
  const idleSinceMs = progress.idleReports === 0 ? run.atMs : progress.idleSinceMs;
  const next = { ...progress, run, idleReports: progress.idleReports + 1, idleSinceMs };
  return isOver(next, run) ? { ...next, phase: "closing" } : next;
}

/** Whether the run status is worth a call now: it carries the whole trajectory, so not while text flows, and seldom while nothing does. */
export function wantsRun(progress: TurnProgress, atMs: number): boolean {
  if (progress.phase !== "following") return false;
  if (looksOver(progress.view)) return true;
  const askedMs = atMs - (progress.run?.atMs ?? Number.NEGATIVE_INFINITY);
  return atMs - (progress.changedAtMs ?? atMs) >= askAfterMs && askedMs >= askEveryMs;
}

/** Whether the turn is closing only because a checkpoint follows its answer: one more look has to show it unchanged. */
export function isConfirming({ phase, run, view }: TurnProgress): boolean {
  return phase === "closing" && run !== undefined && run.status === undefined && endsByCheckpoint(view);
}

/** How long the turn may show no sign of life. */
export function patienceMs({ run, view }: TurnProgress, silenceMs: number): number {
  const isUntold = view.phase === "unmarked" && run !== undefined && run.status === undefined;
  return isUntold ? Math.min(restMs, silenceMs) : silenceMs;
}

function endsByCheckpoint(view: TurnView): boolean {
  return view.checkpointLast && isWhole(view) && view.error === undefined && !view.overtaken;
}

function looksOver(view: TurnView): boolean {
  if (view.looking && !view.overtaken && view.error === undefined) return false;
  if (view.overtaken || view.checkpoint || view.error !== undefined) return view.phase !== "open";
  return view.phase !== "none" && !growing(view);
}

function isWhole({ phase }: TurnView): boolean {
  return phase === "done" || phase === "followed";
}

function growing(view: TurnView): boolean {
  return view.phase === "open" || view.phase === "unmarked";
}

function isOver(progress: TurnProgress, run: RunSnapshot): boolean {
  const { view, idleReports } = progress;
  const idleMs = run.atMs - progress.idleSinceMs;
  const unfinished = view.phase === "open" || view.phase === "none" || view.looking;
  if (view.overtaken) return true;
  if (run.status === undefined && endsByCheckpoint(view)) return true;
  if (run.status !== undefined) {
    if (view.error !== undefined && view.phase !== "open") return true;
    const marked = (view.checkpoint && !view.looking) || run.executors.length > 0;
    if (marked && view.prompted && view.phase !== "open") return true;
    if (marked && view.phase === "open" && idleReports >= 2 && idleMs >= quietIdleMs) return true;
  }
  if (!unfinished || (run.status === undefined && looksOver(view))) return idleReports >= 2 && idleMs >= quietIdleMs;
  return run.restarted
    ? idleReports >= 2 && idleMs >= restartedIdleMs
    : idleReports >= lostIdleReports && idleMs >= lostIdleMs;
}

/** The meaning of an execution's end: a finish reason, or the way in which the turn went wrong. */
type EndKind = FinishReason["unified"] | "failed" | "cancelled" | "blocked";

const endings: Readonly<Record<keyof typeof ExecutorTerminationReason, EndKind>> = {
  UNSPECIFIED: "stop",
  ERROR: "failed",
  USER_CANCELED: "cancelled",
  MAX_INVOCATIONS: "length",
  NO_TOOL_CALL: "stop",
  HALTED_STEP: "stop",
  HOOK_BLOCKED: "blocked",
  ARENA_INVOCATION_CAP: "length",
};

/**
 * The terminal event of a turn that is over. The trajectory takes precedence over the executor's status: an error step names its
 * cause, the termination reason does not. Both ends name the tools with which the IDE's agent looked something up.
 */
function conclude(view: TurnView, run: RunSnapshot | undefined, errorOf: ErrorOf): TurnEventBody {
  const end = endOf(view, run, errorOf);
  return view.read.length === 0 || end.type === "cancelled" ? end : { ...end, ideTools: view.read };
}

type End = Extract<TurnEventBody, { readonly type: "finished" | "failed" | "cancelled" }>;

function endOf(view: TurnView, run: RunSnapshot | undefined, errorOf: ErrorOf): End {
  if (view.tool !== undefined) return failed(toolMessage(view.tool), toolHint, { reason: unusableAnswer });
  if (view.cut) return failed(cutMessage, cutHint, { reason: unusableAnswer });
  if (view.error?.details !== undefined) return { type: "failed", error: errorOf(view.error.details).toRecord() };
  if (view.error !== undefined) return failed("The IDE reported an error for this turn without a reason.");
  const { raw, ending } = endingOf(run);
  if (view.phase === "cancelled" || ending === "cancelled") return failed(stoppedMessage, stoppedHint, stopped);
  if (view.phase === "broken" || ending === "failed") return failed("The IDE's server gave up on this turn.");
  if (ending === "blocked") return failed("A Cascade hook set up in the IDE blocked this turn.", hookHint);
  if (view.phase === "open") return failed(unfinishedMessage(run));
  const marked = (view.checkpoint && !view.looking) || (run?.executors.length ?? 0) > 0;
  if (view.looking && !marked) return failed(unfinishedMessage(run));
  if (view.phase === "none" && !marked) return failed(unansweredMessage(view, run));
  const isSilent = view.answer.text === "" && view.read.length === 0 && !view.called;
  if (isSilent && ending === "stop") return failed(emptyMessage, emptyHint, { reason: unusableAnswer });
  return { type: "finished", reason: { unified: ending, raw }, text: view.answer.text };
}

function endingOf(run: RunSnapshot | undefined): { readonly ending: EndKind; readonly raw: string | undefined } {
  const reason = run?.executors.at(-1)?.terminationReason;
  for (const [name, number] of Object.entries(ExecutorTerminationReason)) {
    if (number !== reason || number === ExecutorTerminationReason.UNSPECIFIED) continue;
    // entries() of the enum's own object: its keys are the enum's names
    return { ending: endings[name as keyof typeof ExecutorTerminationReason], raw: name.toLowerCase() };
  }
  return { ending: "stop", raw: undefined };
}

const toolHint = "Millrace lets the IDE's agent read, but not change anything. Try again, or pick another model.";
const hookHint = "Look at the Cascade hooks in the IDE's settings, or ask your administrator.";

const emptyMessage = "The IDE's server sent an answer without text.";
const emptyHint =
  "Send the request again, or pick another model. `millrace doctor` shows whether the IDE answers at all.";

/** Of an answer that the user ended in the IDE. */
export const stoppedHint =
  "Send the request again if you want the answer: under a new idempotency key, or in a minute.";
export const stopped = { reason: stoppedInIde };
const stoppedMessage = "The IDE stopped this answer: the stop button was pressed there, or the IDE is closing.";
const cutMessage =
  "The answer is longer than the 200,000 characters that this IDE can show. The part that arrived was kept.";
const cutHint = "Ask for a shorter answer, or update the IDE. Newer versions have no such limit.";

function toolMessage(tool: string): string {
  return `The IDE's agent wanted to use its own tool ${tool}, so Millrace stopped the turn.`;
}

function unfinishedMessage(run: RunSnapshot | undefined): string {
  return run?.restarted === true
    ? "The IDE's server restarted during the answer. The part that arrived was kept."
    : "The IDE's server stopped in the middle of the answer. The part that arrived was kept.";
}

function unansweredMessage(view: TurnView, run: RunSnapshot | undefined): string {
  if (run?.restarted === true) return "The IDE's server restarted before it answered.";
  return view.prompted
    ? "The IDE's server accepted the prompt, but ended without an answer."
    : "The IDE's server accepted the prompt, but did not start to answer.";
}

function failed(
  message: string,
  hint?: string,
  details?: unknown,
): { readonly type: "failed"; readonly error: ErrorRecord } {
  const more = { ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) };
  const error = new MillraceError("upstream_failed", message, more);
  return { type: "failed", error: error.toRecord() };
}
