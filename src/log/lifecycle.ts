import type { NoDetails } from "../base/emitter.ts";
import type { MillraceError } from "../base/errors.ts";

/** Events of the log's store. */
export interface StoreLifecycle {
  /** The store begins to fail, or a retry fails for another reason: turns stay in memory. */
  readonly store_failed: { readonly error: MillraceError };
  /** The store takes writes again: new turns are stored. What it did not take stays in memory. */
  readonly store_recovered: NoDetails;
  /** Its file was found damaged as it was opened, and was renamed to `copy`. The log is new. */
  readonly store_damaged: { readonly copy: string };
}
