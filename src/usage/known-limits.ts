import type { ErrorRecord } from "../base/errors.ts";
import type { IdeVariant } from "../language-server/transport/endpoint.ts";
import type { LimitsSnapshot } from "./limits.ts";
import type { Pace } from "./pace.ts";

/** The last good reading of one IDE. */
export interface LimitsReading {
  readonly snapshot: LimitsSnapshot;
  readonly paces: readonly Pace[];
  /** Epoch ms after which it is not believed any more. */
  readonly expiresAtMs: number;
  /** Older than that, read before a turn ended, or the IDE does not answer any more. */
  readonly stale: boolean;
}

/** Why a reading failed. It stays beside the last good one until the next attempt. */
export interface ReadingError {
  /** Undefined when no IDE could be asked at all, or when the history cannot be written. */
  readonly ide: IdeVariant | undefined;
  readonly error: ErrorRecord;
  readonly atMs: number;
}

export interface Limits {
  readonly nowMs: number;
  /** Windsurf, Windsurf Next, Antigravity, as far as there is a reading. */
  readonly readings: readonly LimitsReading[];
  readonly errors: readonly ReadingError[];
}
