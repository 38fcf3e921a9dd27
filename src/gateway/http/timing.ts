import type { Clock } from "../../base/clock.ts";

/** How long the gateway waits, in ms. */
export interface Timing {
  /** Silence after which a no-op event is sent. */
  readonly heartbeatMs: number;
  /** How old the upstream's last answer to a poll may be for that. */
  readonly aliveMs: number;
  /** How long a stream waits for its first event before it commits to status 200. */
  readonly commitMs: number;
  /** How long after the last text an error is written: some clients drop what they read together with it. */
  readonly errorApartMs: number;
}

/**
 * Heartbeats within 15 s, with room for delays; a failure in the first seconds still gets its status.
 * Source: docs/dev/wire/clients.md, "Silence and repeats".
 *
 * An upstream that answers is polled at least every 0.5 s, and a poll may take 10 s, so its answers are at most 10.5 s apart. With
 * `aliveMs` of 7 s:
 *
 * - An upstream that has answered nothing since the silence began gets no heartbeat.
 * - An upstream that hangs gets one heartbeat at most, in its first 7 s.
 * - The slowest upstream that still answers gets its heartbeat 3.5 s and one look of a second late, within 15 s.
 */
export const defaultTiming: Timing = { heartbeatMs: 10_000, aliveMs: 7_000, commitMs: 5_000, errorApartMs: 100 };

/** How soon to look again if a heartbeat was due and the upstream did not answer; ms. */
export const lookAgainMs = 1_000;

/** Whether an upstream whose last answer came at `aliveAtMs` (epoch ms) counts as alive now. A clock that was set back proves nothing. */
export function isAnswering(aliveAtMs: number | undefined, clock: Clock, { aliveMs }: Timing): boolean {
  return aliveAtMs !== undefined && Math.abs(clock.now() - aliveAtMs) <= aliveMs;
}
