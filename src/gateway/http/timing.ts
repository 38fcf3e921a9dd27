import type { Clock } from "../../base/clock.ts";

/** How long the gateway waits, in ms. */
export interface Timing {
  /** Silence after which a no-op event is sent. */
  readonly heartbeatMs: number;
  /** How old the upstream's last answer to a poll may be for that. */
  readonly aliveMs: number;
  /** How long a stream waits for its first event before it commits to status 200. */
  readonly commitMs: number;
}

/**
 * Heartbeats within 15 s, with room for delays; a failure in the first seconds still gets its status.
 * Source: docs/wire/clients.md, "Silence and repeats".
 *
 * An upstream that answers is polled every 0.5 s at the slowest, and a poll has 10 s, so its answers are at most 10.5 s apart.
 * With 7 s an upstream that answered nothing since the silence began gets no beat, one that hangs gets one at most, and that
 * only in its first 7 s; the slowest that still answers gets its beat 3.5 s late, and the second of a look later, within 15 s.
 */
export const defaultTiming: Timing = { heartbeatMs: 10_000, aliveMs: 7_000, commitMs: 5_000 };

/** How soon it is looked again whether the upstream answers, when a beat was due and it did not; ms. */
export const lookAgainMs = 1_000;

/** Whether an upstream that answered a poll last at `aliveAtMs` (epoch ms) is known alive now. A clock set back proves nothing. */
export function isAnswering(aliveAtMs: number | undefined, clock: Clock, { aliveMs }: Timing): boolean {
  return aliveAtMs !== undefined && Math.abs(clock.now() - aliveAtMs) <= aliveMs;
}
