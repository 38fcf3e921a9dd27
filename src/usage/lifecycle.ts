import type { NoDetails } from "../base/emitter.ts";
import type { MillraceError } from "../base/errors.ts";
import type { FinishedTurn } from "./history/finished-turn.ts";
import type { Limits } from "./known-limits.ts";

/** Events of the meter and its history. */
export interface UsageLifecycle {
  /** A turn has ended, here or elsewhere: once a turn, when the history has it. */
  readonly turn_ended: FinishedTurn;
  /** The plans were read, or a turn's end made the last reading stale. */
  readonly limits_changed: Limits;
  /** A turn could not be recorded; the next start tries again. */
  readonly usage_unrecorded: { readonly error: unknown };
  /** The history begins to fail, or fails for another reason: new entries wait in memory. */
  readonly history_failed: { readonly error: MillraceError };
  readonly history_recovered: NoDetails;
  /** A damaged file was moved to `copy`. */
  readonly history_set_aside: { readonly copy: string };
}
