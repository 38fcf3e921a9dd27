import { isMillraceError } from "../../base/errors.ts";
import { callFailure } from "../../language-server/errors/call-failure.ts";
import type { CallFailureKind } from "../../language-server/errors/symptoms.ts";
import type { PollPacer } from "./poll-pacer.ts";

/** How a poll failed: `silent` where no answer came in time, as when the server's process hangs, or is starved or stopped. */
export type PollFailure = CallFailureKind | "silent";

/** The poll intervals of one turn, before other turns are considered. All of them can be configured; the defaults come from measurements in `bench/`. */
export interface PollPace {
  /** From one question to the next until the first text, in the first seconds. */
  readonly fastestMs: number;
  /** The same while text flows. */
  readonly flowingMs: number;
  /** How long a server may be silent, unreachable or gone, as it is while the user restarts the IDE. Waiting costs nothing; a new request costs a prompt. */
  readonly outageMs: number;
}

export const defaultPace: PollPace = {
  fastestMs: 20,
  flowingMs: 33, // people see no difference to less, and the processor does
  outageMs: 45_000,
};

/** People feel the first text most, so it is waited for at the fastest pace this long. */
const eagerMs = 10_000;
/** How long a turn has been silent, and how often it is polled from then on; the longest first. */
const silences: readonly { readonly afterMs: number; readonly everyMs: number; readonly evenEarly: boolean }[] = [
  { afterMs: 120_000, everyMs: 1_000, evenEarly: true },
  { afterMs: 30_000, everyMs: 250, evenEarly: true },
  { afterMs: eagerMs, everyMs: 100, evenEarly: true },
  { afterMs: 2_000, everyMs: 50, evenEarly: false },
];
/** Of an answer no more than this is read again for each ms, so that a very long one costs no more than many short ones. */
const readPerMs = 10_000;
/** A slow server is left alone for as long as it took to answer, and not for longer than this. */
const mostPoliteMs = 500;

/** The outcome of past polls. */
export interface PollHistory {
  /** Of the last 15 polls, oldest first: whether the server answered with an error. */
  readonly recentErrors: readonly boolean[];
  readonly errorsInRow: number;
  readonly failuresInRow: number;
  /** Monotonic ms of the first failure in a row; meaningless without one. */
  readonly failingSinceMs: number;
}

export const noPolls: PollHistory = {
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

/** The facts of an answered poll that set the time of the next one. Monotonic times in ms. */
export interface AnsweredPoll {
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  /** Since the prompt. */
  readonly ageMs: number;
  /** Since the last sign of life. */
  readonly quietMs: number;
  /** The next poll decides whether a checkpoint was the end, after this long; unset: it does not. */
  readonly confirmMs?: number | undefined;
  /** The length of the answer so far, in UTF-16 units: each poll carries all of it. */
  readonly length: number;
}

/** When to poll again after a poll that the server answered. */
export function afterAnswer(
  history: PollHistory,
  poll: AnsweredPoll,
  pace: PollPace,
): { readonly history: PollHistory; readonly next: Parameters<PollPacer["untilDue"]>[0] } {
  const { askedAtMs, answeredAtMs, confirmMs } = poll;
  const politeMs = confirmMs ?? Math.min(mostPoliteMs, answeredAtMs - askedAtMs);
  return {
    history: { ...noPolls, recentErrors: remember(history, false) },
    next: {
      askedAtMs,
      notBeforeMs: answeredAtMs + politeMs,
      intervalMs: confirmMs === undefined ? intervalOf(poll, pace) : 0,
    },
  };
}

function intervalOf({ ageMs, quietMs, length }: AnsweredPoll, pace: PollPace): number {
  const silence = silences.find(({ afterMs, evenEarly }) => quietMs >= afterMs && (evenEarly || ageMs > eagerMs));
  const leastMs = length === 0 ? pace.fastestMs : pace.flowingMs;
  return Math.max(leastMs, silence?.everyMs ?? 0, Math.min(mostPoliteMs, length / readPerMs));
}

/**
 * How long to wait after a poll that failed; `undefined` when another one would not help. For a server that cannot be reached,
 * or is silent, the wait is as long as an IDE may take to restart it. A server that answers with errors, or breaks off, gets
 * fewer than 3 in a row and fewer than 5 of 15. Source: docs/dev/wire/cascade.md, "Time line of a turn".
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
  if (kind === "trajectory_missing" || kind === "unimplemented" || kind === "retired") return undefined;
  if (errorsInRow >= mostInRow || recentErrors.filter((failed) => failed).length >= mostOfRemembered) return undefined;
  if (atMs - failingSinceMs >= pace.outageMs) return undefined;
  return {
    history: { recentErrors, errorsInRow, failuresInRow, failingSinceMs },
    waitMs: Math.min(slowestRetryMs, firstRetryMs * 2 ** Math.min(failuresInRow - 1, 16)),
  };
}

/**
 * Polls change nothing, so one without an answer may be repeated. `cancelled`, while the turn is not: the
 * way to the server was closed while it is looked for again.
 */
export function pollFailure(error: unknown): PollFailure {
  if (!isMillraceError(error)) return callFailure(error);
  if (error.code === "upstream_timeout") return "silent";
  return error.code === "cancelled" ? "not_sent" : callFailure(error);
}

/** Whether a failure looks as if the server were gone or another one in its place, so that it is worth looking for it again. */
export function isOutage(kind: CallFailureKind): boolean {
  return kind === "not_sent" || kind === "interrupted" || kind === "unauthenticated" || kind === "panel_state_missing";
}

function remember(history: PollHistory, failed: boolean): readonly boolean[] {
  return [...history.recentErrors, failed].slice(-remembered);
}
