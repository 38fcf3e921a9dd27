import type { CallFailureKind } from "../../language-server/call-failure.ts";

/** How a poll failed: `silent` where no answer came in time, as when the server's process hangs, or is starved or stopped. */
export type PollFailure = CallFailureKind | "silent";

/** How often a turn is polled. All of it can be configured; the defaults are what `bench/` found. */
export interface PollPace {
  /** While text flows. */
  readonly fastestMs: number;
  /** After a long time without a change. */
  readonly slowestMs: number;
  /** By how much each poll without a change lengthens the wait. */
  readonly growth: number;
  /** The part of the time, at most, that one turn spends waiting for answers: a slow server is asked less often. */
  readonly busyFraction: number;
  /** How long a server may be out of reach, as it is while the IDE restarts it, or silent. */
  readonly outageMs: number;
}

export const defaultPace: PollPace = {
  fastestMs: 40,
  slowestMs: 500,
  growth: 1.25,
  busyFraction: 0.5,
  outageMs: 45_000,
};

/** What past polls came to. */
export interface PollHistory {
  readonly quietPolls: number;
  /** Of the last 15 polls, oldest first: whether the server answered with an error. */
  readonly recentErrors: readonly boolean[];
  readonly errorsInRow: number;
  readonly failuresInRow: number;
  /** Monotonic ms of the first failure in a row; meaningless without one. */
  readonly failingSinceMs: number;
}

export const noPolls: PollHistory = {
  quietPolls: 0,
  recentErrors: [],
  errorsInRow: 0,
  failuresInRow: 0,
  failingSinceMs: 0,
};

const remembered = 15;
const mostInRow = 3;
const mostOfRemembered = 5;
const firstRetryMs = 100;
const slowestRetryMs = 2_000;

/** How long to wait after a poll that the server answered in `tookMs`, and whether it brought anything new. */
export function afterAnswer(
  history: PollHistory,
  poll: { readonly changed: boolean; readonly tookMs: number },
  pace: PollPace,
): { readonly history: PollHistory; readonly waitMs: number } {
  const quietPolls = poll.changed ? 0 : history.quietPolls + 1;
  const eagerMs = Math.min(pace.slowestMs, pace.fastestMs * pace.growth ** Math.min(quietPolls, 64));
  const politeMs = Math.min(pace.slowestMs, poll.tookMs * (1 / pace.busyFraction - 1));
  return {
    history: { ...noPolls, quietPolls, recentErrors: remember(history, false) },
    waitMs: Math.max(eagerMs, politeMs),
  };
}

/**
 * How long to wait after a poll that failed; `undefined` when there is no use in another. A server out of reach, or silent, is
 * waited for as long as an IDE may take to restart it; one that answers with errors, or breaks off, gets fewer than 3 in a row and fewer
 * than 5 of 15. Source: facts/language-server.md, 9.2.
 */
export function afterFailure(
  history: PollHistory,
  kind: PollFailure,
  atMs: number,
  pace: PollPace,
): { readonly history: PollHistory; readonly waitMs: number } | undefined {
  const failingSinceMs = history.failuresInRow === 0 ? atMs : history.failingSinceMs;
  const failuresInRow = history.failuresInRow + 1;
  const answered = kind === "refused" || kind === "interrupted";
  const errorsInRow = history.errorsInRow + (answered ? 1 : 0);
  const recentErrors = answered ? remember(history, true) : history.recentErrors;
  if (kind === "trajectory_missing" || kind === "unimplemented") return undefined;
  if (errorsInRow >= mostInRow || recentErrors.filter((failed) => failed).length >= mostOfRemembered) return undefined;
  if (atMs - failingSinceMs >= pace.outageMs) return undefined;
  return {
    history: { quietPolls: history.quietPolls, recentErrors, errorsInRow, failuresInRow, failingSinceMs },
    waitMs: Math.min(slowestRetryMs, firstRetryMs * 2 ** Math.min(failuresInRow - 1, 16)),
  };
}

/** Whether a failure looks as if the server were gone or another one in its place, so that it is worth looking for it again. */
export function isOutage(kind: CallFailureKind): boolean {
  return kind === "not_sent" || kind === "interrupted" || kind === "unauthenticated" || kind === "panel_state_missing";
}

function remember(history: PollHistory, failed: boolean): readonly boolean[] {
  return [...history.recentErrors, failed].slice(-remembered);
}
