import type { Clock } from "../../base/clock.ts";
import type { CascadeId } from "../../base/ids.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { AnswerSoFar } from "../answer-diff.ts";
import type { CurrentServer } from "../current-server.ts";
import type { PollPacer } from "./poll-pacer.ts";
import type { PollPace } from "./poll-schedule.ts";
import type { TurnProgress } from "./turn-progress.ts";
import type { ErrorOf, RunSnapshot } from "./turn-view.ts";

/** Whether the build of a turn's server writes text after a checkpoint, as far as this gateway has seen. */
export interface LateText {
  /** From the first time on, answers of the build end only after the later look. */
  readonly isExpected: boolean;
  /** Text came after the end of an answer. */
  readonly note: () => void;
}

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

/** The fields of every follower's state that the driver reads. */
export interface FollowerState {
  readonly progress: TurnProgress;
  /** From which step the next poll reads. */
  readonly offset: number;
  /** The last snapshot contradicts the state: read again from `offset`, at once. */
  readonly mustReread: boolean;
}

/**
 * One way to read a turn from its trajectory. `follow` is pure; the terminal event is the last it ever gives, and
 * `progress.phase` is `ended` then.
 */
export interface Follower<State extends FollowerState, Snapshot> {
  start(from: StartPoint): State;
  read(server: LanguageServer, from: ReadFrom<State>, signal: AbortSignal): Promise<Snapshot>;
  follow(state: State, snapshot: Snapshot | RunSnapshot): FollowStep<State>;
}

/** The input of one poll, and the clock of its snapshot. */
export interface ReadFrom<State> {
  readonly cascadeId: CascadeId;
  readonly state: State;
  readonly now: () => number;
}

/** A turn on its trajectory, and the follower that reads it. */
export interface OpenCascade<State extends FollowerState, Snapshot> {
  readonly follower: Follower<State, Snapshot>;
  readonly start: StartPoint;
  readonly cascadeId: CascadeId;
  readonly current: CurrentServer;
}

/** Whether the IDE's agent may look things up in a turn, or the turn stops at each of its tools. */
export type IdeTools = "read" | "stop";

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
  /** Of the build that the server is of. */
  readonly lateText?: LateText | undefined;
}
