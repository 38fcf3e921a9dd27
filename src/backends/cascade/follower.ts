import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import { callFailure } from "../../language-server/errors/call-failure.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { CortexTrajectoryStep } from "../../proto/windsurf/exa/cortex_pb.ts";
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

/** The steps from `offset` (0-based, inclusive) to the end of the trajectory, as one poll answered. */
export interface StepsSnapshot {
  readonly kind: "steps";
  /** Monotonic ms. */
  readonly atMs: number;
  readonly offset: number;
  readonly steps: readonly CortexTrajectoryStep[];
}

/** The transcript from step `offset` on, as one poll answered, and how many steps there are in all. */
export interface TranscriptSnapshot extends Omit<StepsSnapshot, "kind" | "steps"> {
  readonly kind: "transcript";
  readonly transcript: string;
  readonly totalSteps: number;
}

export interface FollowStep {
  readonly events: readonly TurnEventBody[];
  readonly state: FollowerState;
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
  /** From here on the rest of the turn can be read in one call: later than `firstIndex` once a transcript came cut. */
  readonly wholeFrom: number;
  /** The last transcript. An equal one brings nothing new and is not parsed again. */
  readonly seen: TranscriptSnapshot | undefined;
  /** The numbers of a transcript's messages are not their places, or do not match the steps, so only the whole of it can be read. */
  readonly uneven: boolean;
}

/** Where to begin: one step before the turn's first, because the last step of the turn before may still change. */
export function startFollowing(start: StartPoint): FollowerState {
  const firstIndex = Math.max(0, start.fromStep - 1);
  const progress = startProgress(start.sent);
  const place = { firstIndex, offset: firstIndex, wholeFrom: firstIndex };
  return { start, ...place, entries: [], progress, mustReread: false, shortPolls: 0, seen: undefined, uneven: false };
}

/** Applies the run's status. A turn that closes is read once more from `wholeFrom`. */
export function followRun(state: FollowerState, run: RunSnapshot): FollowStep {
  const progress = report(state.progress, run);
  const offset = progress.phase === "closing" ? state.wholeFrom : state.offset;
  return { events: [], state: { ...state, progress, offset } };
}

const mostShortPolls = 5;

/** A server that lost steps for a moment gets some polls to have them again; undefined once they are over. */
export function followShort(state: FollowerState): FollowStep | undefined {
  const shortPolls = state.shortPolls + 1;
  if (shortPolls > mostShortPolls) return undefined;
  const phase = state.progress.phase === "closing" ? "following" : state.progress.phase; // its last reading was not whole
  return { events: [], state: { ...state, progress: { ...state.progress, phase }, shortPolls, mustReread: false } };
}

/**
 * One way to read a turn from its trajectory. `follow` is pure; the terminal event is the last it ever gives, and
 * `progress.phase` is `ended` then.
 */
export interface Follower {
  /** One poll, with the clock of its snapshot. */
  read(
    server: LanguageServer,
    from: { readonly cascadeId: CascadeId; readonly state: FollowerState; readonly now: () => number },
    signal: AbortSignal,
  ): Promise<StepsSnapshot | TranscriptSnapshot>;
  /** Only of its own snapshots, and of the run's. */
  follow(state: FollowerState, snapshot: StepsSnapshot | TranscriptSnapshot | RunSnapshot): FollowStep;
}

/** A turn on its trajectory: its prompt, and the follower that reads its answer. */
export interface CascadeTurn {
  readonly prompt: Prompt;
  readonly options: RunOptions;
  readonly settings: CascadeSettings;
  readonly follower: Follower;
  /** Takes over where the server does not know the calls of `follower`. */
  readonly otherwise?: Follower;
  readonly start: StartPoint;
  readonly cascadeId: CascadeId;
  readonly current: CurrentServer;
}

/** The turn, read the other way, after a failure that says that the server does not know the calls of this one. */
export function readOtherwise({ otherwise, ...turn }: CascadeTurn, failure: unknown): CascadeTurn | undefined {
  if (otherwise === undefined || callFailure(failure) !== "unimplemented") return undefined;
  return { ...turn, follower: otherwise };
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
