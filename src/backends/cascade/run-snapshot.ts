import type { MillraceError } from "../../base/errors.ts";
import type { CascadeRunStatus, CortexErrorDetails, ExecutorMetadata } from "../../proto/windsurf/exa/cortex_pb.ts";

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
