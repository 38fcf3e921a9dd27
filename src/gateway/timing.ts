/** How long the gateway waits, in ms. */
export interface Timing {
  /** Silence after which a no-op event is sent. */
  readonly heartbeatMs: number;
  /** How old the upstream's last sign of life may be for that. */
  readonly aliveMs: number;
  /** How long a stream waits for its first event before it commits to status 200. */
  readonly commitMs: number;
}

/** Heartbeats within 15 s (design.md, decision 11), with room for delays; a failure in the first seconds still gets its status. */
export const defaultTiming: Timing = { heartbeatMs: 10_000, aliveMs: 30_000, commitMs: 5_000 };
