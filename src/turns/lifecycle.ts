import type { TurnId } from "../base/ids.ts";
import type { IdeToolNames } from "../log/event.ts";
import type { TurnRecord } from "../log/store.ts";

/** Events of the turns that this process runs. */
export interface TurnLifecycle {
  /** A new turn is stored, and runs here. */
  readonly turn_started: { readonly turnId: TurnId };
  /** The upstream answered a poll. */
  readonly turn_polled: { readonly turnId: TurnId };
  /** This process continues a turn whose process ended; the record says how far its log is. */
  readonly turn_adopted: TurnRecord;
  /** At the end of a turn in which the IDE's agent looked something up. */
  readonly ide_read: { readonly turnId: TurnId; readonly ideTools: IdeToolNames };
  readonly turn_problem: {
    readonly event: "turn_run_failed" | "turn_adopt_failed" | "turn_upkeep_failed";
    readonly turnId: TurnId | undefined;
    readonly error: unknown;
  };
}
