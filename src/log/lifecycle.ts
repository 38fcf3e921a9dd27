import type { NoDetails } from "../base/emitter.ts";
import type { MillraceError } from "../base/errors.ts";
import type { Damage } from "./sqlite/damage.ts";
import type { StoreWeakness } from "./weakness.ts";

/** Events of the log's store. */
export interface StoreLifecycle {
  /** The store begins to fail, or a retry fails for another reason: turns stay in memory. */
  readonly store_failed: { readonly error: MillraceError };
  /** The store takes writes again and has received the events that it lacked. */
  readonly store_recovered: NoDetails;
  /** Its file was gone and is back, with all that it held: others that have it open must open it anew. */
  readonly store_restored: NoDetails;
  /** Its file was found damaged, as it was opened. */
  readonly store_damaged: Damage;
  /** The causes that can lose acknowledged writes have changed; empty once there are none. */
  readonly store_weakened: { readonly weaknesses: readonly StoreWeakness[] };
}
