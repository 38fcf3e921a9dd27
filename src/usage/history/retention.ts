import type { DatabaseSync } from "node:sqlite";
import { quarterMs } from "../since.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How long the usage history keeps turns and readings. */
export const keptDays = 400;

/**
 * Removes turns and readings older than `keptDays`, and thins readings: the last one of an hour after 7 days, of a day after 60. The
 * plan's loss between two readings stays the same when those between them are removed.
 */
export function sweepHistory(db: DatabaseSync, nowMs: number): void {
  const oldest = nowMs - keptDays * dayMs;
  db.prepare("DELETE FROM usage_turns WHERE ended_at_ms < ?").run(oldest);
  db.prepare("DELETE FROM usage_rollup WHERE bucket < ?").run(Math.floor(oldest / quarterMs));
  db.prepare("DELETE FROM usage_snapshots WHERE read_at_ms < ?").run(oldest);
  thin(db, nowMs - 60 * dayMs, dayMs);
  thin(db, nowMs - 7 * dayMs, hourMs);
}

/** Of readings older than `beforeMs`, keeps the last one of each IDE in every stretch of `stretchMs`. */
function thin(db: DatabaseSync, beforeMs: number, stretchMs: number): void {
  db.prepare(
    `DELETE FROM usage_snapshots AS s WHERE read_at_ms < ?1 AND EXISTS (
       SELECT 1 FROM usage_snapshots AS later
       WHERE later.ide = s.ide AND later.read_at_ms > s.read_at_ms AND later.read_at_ms < ?1
       AND later.read_at_ms / CAST(?2 AS INTEGER) = s.read_at_ms / CAST(?2 AS INTEGER))`,
  ).run(beforeMs, stretchMs);
}
