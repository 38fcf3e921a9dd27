import type { TurnEventBody } from "../../log/event.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { AnswerSoFar } from "../answer-diff.ts";
import { type SentAnswer, sendParts, sentBefore } from "./answer-parts.ts";
import { conclude } from "./conclusion.ts";
import type { ErrorOf, RunSnapshot } from "./run-snapshot.ts";
import { emptyView, sameView, type TurnView } from "./turn-view.ts";

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

export interface Advance {
  readonly events: readonly TurnEventBody[];
  readonly progress: TurnProgress;
}

/**
 * Ends a finished answer after the status was idle for this long, in two polls.
 * Source: docs/wire/cascade.md, "Time line of a turn".
 */
const quietIdleMs = 400;
/** The same while an answer is missing or open: a server is idle for up to 600 ms after a send, and one client waits 8 s. */
const lostIdleMs = 10_000;
const lostIdleReports = 4;
/** The same after a restart of the server. */
const restartedIdleMs = 1_000;
/** Where the server does not tell its status: a checkpoint that stands last this long ends the turn, and a text that is this quiet does. */
const checkpointMs = 100;
const quietTextMs = 60_000;
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
): Advance {
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

/** A server that lost steps for a moment gets this many polls to have them again. */
export const mostShortPolls = 5;

/** A turn that seemed over, and whose last reading was not whole. */
export function readAgain(progress: TurnProgress): TurnProgress {
  return progress.phase === "closing" ? { ...progress, phase: "following" } : progress;
}

/** Applies the server's run status, and decides whether the turn is over. */
export function report(progress: TurnProgress, run: RunSnapshot): TurnProgress {
  if (progress.phase !== "following") return progress;
  const isQuiet = progress.view.phase === "unmarked" && run.atMs - (progress.changedAtMs ?? run.atMs) >= quietTextMs;
  const idle = run.status === undefined ? looksOver(progress.view) || isQuiet : run.status === CascadeRunStatus.IDLE;
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
