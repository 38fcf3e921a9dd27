/** How long an ended turn's log can be read, and how long its tombstone answers `expired` after that; all in ms. */
export interface Retention {
  /** Since the end or the last attach, whichever is later. */
  readonly windowMs: number;
  /** Since the end, even with attached readers. */
  readonly capMs: number;
  readonly tombstoneMs: number;
}

const hourMs = 3_600_000;

/**
 * Two hours, since clients look back that far; then a tombstone for a day.
 * Source: docs/wire/idempotent-streams.md, "What a server must do".
 */
export const defaultRetention: Retention = { windowMs: 2 * hourMs, capMs: 2 * hourMs, tombstoneMs: 24 * hourMs };

/** When a turn that ended then, and was last attached to then, stops being readable; epoch ms. */
export function expiryOf(endedAtMs: number, attachedAtMs: number, { windowMs, capMs }: Retention): number {
  return Math.min(Math.max(endedAtMs, attachedAtMs) + windowMs, endedAtMs + capMs);
}
