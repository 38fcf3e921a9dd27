import type { MillraceError } from "../../base/errors.ts";
import type { CascadeRunStatus, CortexErrorDetails, ExecutorMetadata } from "../../proto/windsurf/exa/cortex_pb.ts";
import type { AnswerSoFar } from "../answer-diff.ts";
import type { AnswerPart } from "./answer-parts.ts";

/** A cascade's run status. `status` is undefined if this build does not report it. */
export interface RunSnapshot {
  readonly kind: "run";
  /** Monotonic ms. */
  readonly atMs: number;
  readonly status: CascadeRunStatus | undefined;
  /** The executions of this turn that ended, oldest first. */
  readonly executors: readonly ExecutorMetadata[];
  /** The server restarted while the turn ran, so a turn that is idle now never continues. */
  readonly restarted: boolean;
}

/** How an error in a trajectory, or its text in a transcript, becomes one of the taxonomy; lives in `language-server/errors.ts`. */
export type ErrorOf = (details: CortexErrorDetails | string) => MillraceError;

/**
 * The phase of a turn's last answer. `open`: it may still grow. `unmarked`: it may still grow, and the trajectory will not show its
 * end (the transcript). `followed`: another message follows it, so it is most likely whole. `broken`: the step itself reports a failure.
 */
export type AnswerPhase = "none" | "open" | "unmarked" | "followed" | "done" | "cancelled" | "broken";

/** Whether the IDE's agent may look things up in a turn, or the turn stops at each of its tools. */
export type IdeTools = "read" | "stop";

/** One turn, as a trajectory shows it, independent of how it was read. It holds nothing of earlier or later turns. */
export interface TurnView {
  /** The user's message is there: the server accepted the prompt. */
  readonly prompted: boolean;
  /** All of its answers, joined. */
  readonly answer: AnswerSoFar;
  readonly parts: readonly AnswerPart[];
  readonly phase: AnswerPhase;
  /** A checkpoint follows the last answer; the end of the turn if the server is idle too. */
  readonly checkpoint: boolean;
  /** That checkpoint is the last that there is. */
  readonly checkpointLast: boolean;
  /** An error that no answer follows. A transcript has its text at most; `details` is undefined where even that is missing. */
  readonly error: { readonly details: CortexErrorDetails | string | undefined } | undefined;
  /** A tool that the IDE's agent uses or wants to use. The turn must stop because of it. */
  readonly tool: string | undefined;
  /** The tools with which the IDE's agent looked something up, each once, in the order of their first use. */
  readonly read: readonly string[];
  /** The agent called a tool and has not written since: more text can follow. */
  readonly looking: boolean;
  /** The planner called a tool at least once. */
  readonly called: boolean;
  /** The answer is longer than this way of reading can show. */
  readonly cut: boolean;
  /** Another user message follows: nothing more can come for this turn. */
  readonly overtaken: boolean;
  /** How many entries of the trajectory belong to the turn, so that a new one counts as a sign of life. */
  readonly entries: number;
}

/** A turn of which nothing is to be seen yet. */
export const emptyView: TurnView = {
  prompted: false,
  answer: { text: "", thinking: "" },
  parts: [],
  phase: "none",
  checkpoint: false,
  checkpointLast: false,
  error: undefined,
  tool: undefined,
  read: [],
  looking: false,
  called: false,
  cut: false,
  overtaken: false,
  entries: 0,
};

/** Whether two snapshots show the same: no sign of life between them. */
export function sameView(a: TurnView, b: TurnView): boolean {
  return (
    a.answer.text === b.answer.text &&
    a.answer.thinking === b.answer.thinking &&
    a.phase === b.phase &&
    a.entries === b.entries &&
    a.prompted === b.prompted &&
    a.checkpoint === b.checkpoint &&
    a.checkpointLast === b.checkpointLast &&
    a.overtaken === b.overtaken &&
    a.tool === b.tool &&
    a.looking === b.looking &&
    a.cut === b.cut &&
    (a.error === undefined) === (b.error === undefined)
  );
}
