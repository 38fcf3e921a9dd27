import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { AnswerSoFar } from "../answer-diff.ts";
import type { Prompt, RunOptions } from "../backend.ts";
import type { CurrentServer } from "../current-server.ts";
import type { PollPacer } from "./poll-pacer.ts";
import type { PollPace } from "./poll-schedule.ts";
import type { Entry } from "./turn-entries.ts";
import { report, startProgress, type TurnProgress } from "./turn-progress.ts";
import type { ErrorOf, IdeTools, RunSnapshot } from "./turn-view.ts";

export interface StartPoint {
  /** How many steps the trajectory held before this turn; 0 on a fresh one. */
  readonly fromStep: number;
  /** Nothing of another turn can be in the trajectory. */
  readonly fresh: boolean;
  /** The answer that was passed on before: nothing, or the part that the log holds. */
  readonly sent: AnswerSoFar;
  /** The prompt as it was sent, which the transcript repeats. */
  readonly prompt: string;
  readonly errorOf: ErrorOf;
  readonly ideTools: IdeTools;
}

export interface FollowStep<State> {
  readonly events: readonly TurnEventBody[];
  readonly state: State;
}

/** What a follower knows of its turn. */
export interface FollowerState {
  readonly start: StartPoint;
  /** The step behind `entries[0]`. */
  readonly firstIndex: number;
  readonly entries: readonly Entry[];
  readonly progress: TurnProgress;
  /** From which step the next poll reads. */
  readonly offset: number;
  /** The last snapshot contradicts the state: read again from `offset`, at once. */
  readonly mustReread: boolean;
  /** How many polls in a row had fewer steps than are known. */
  readonly shortPolls: number;
}

/** Where to begin: one step before the turn's first, because the last step of the turn before may still change. */
export function startFollowing(start: StartPoint): FollowerState {
  const firstIndex = Math.max(0, start.fromStep - 1);
  const progress = startProgress(start.sent);
  return { start, firstIndex, entries: [], progress, offset: firstIndex, mustReread: false, shortPolls: 0 };
}

/** Applies the run's status. A turn that closes is read once more from `wholeFrom`. */
export function followRun<State extends FollowerState>(
  state: State,
  run: RunSnapshot,
  wholeFrom: number,
): FollowStep<State> {
  const progress = report(state.progress, run);
  return { events: [], state: { ...state, progress, offset: progress.phase === "closing" ? wholeFrom : state.offset } };
}

const mostShortPolls = 5;

/** A server that lost steps for a moment gets some polls to have them again; undefined once they are over. */
export function followShort<State extends FollowerState>(state: State): FollowStep<State> | undefined {
  const shortPolls = state.shortPolls + 1;
  if (shortPolls > mostShortPolls) return undefined;
  const phase = state.progress.phase === "closing" ? "following" : state.progress.phase; // its last reading was not whole
  return { events: [], state: { ...state, progress: { ...state.progress, phase }, shortPolls, mustReread: false } };
}

/**
 * One way to read a turn from its trajectory. `follow` is pure; the terminal event is the last it ever gives, and
 * `progress.phase` is `ended` then.
 */
export interface Follower<State extends FollowerState, Snapshot> {
  start(from: StartPoint): State;
  /** One poll, with the clock of its snapshot. */
  read(
    server: LanguageServer,
    from: { readonly cascadeId: CascadeId; readonly state: State; readonly now: () => number },
    signal: AbortSignal,
  ): Promise<Snapshot>;
  follow(state: State, snapshot: Snapshot | RunSnapshot): FollowStep<State>;
}

/** A turn on its trajectory: its prompt, and the follower that reads its answer. */
export interface CascadeTurn<State extends FollowerState, Snapshot> {
  readonly prompt: Prompt;
  readonly options: RunOptions;
  readonly settings: CascadeSettings;
  readonly follower: Follower<State, Snapshot>;
  readonly start: StartPoint;
  readonly cascadeId: CascadeId;
  readonly current: CurrentServer;
}

/** Settings of the Cascade backend, beside the server. Times in ms. */
export interface CascadeSettings {
  readonly clock: Clock;
  readonly pace: PollPace;
  /** One for the process. */
  readonly pacer: PollPacer;
  /** Without any sign of life for this long a turn fails with `upstream_timeout`. */
  readonly silenceMs: number;
  /** How long a trajectory must show no trace of a prompt before it is believed that the server never took it. */
  readonly acceptGraceMs: number;
  readonly ideTools: IdeTools;
}
