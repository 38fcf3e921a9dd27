import type { DatabaseSync } from "node:sqlite";
import { quarterMs } from "../since.ts";
import { dimensions } from "./rollup.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How long the usage history keeps turns and readings. */
export const keptDays = 400;

/** A reading has some 170 KB: so many are removed in a few milliseconds. */
const atOnce = 25;

/**
 * Removes turns and readings older than `keptDays`, and thins readings: the last one of an hour after 7 days, of a day after 60. The
 * plan's loss between two readings stays the same when those between them are removed. A few at a time: true while there may be more.
 */
export function sweepHistory(db: DatabaseSync, nowMs: number): boolean {
  const oldest = nowMs - keptDays * dayMs;
  const remove = (from: string, ...values: readonly number[]) => {
    const { changes } = db.prepare(`${from} LIMIT ${atOnce})`).run(...values);
    return Number(changes) === atOnce;
  };
  // each value once for each place: Node 22.13 to 22.18 bind a numbered parameter once
  const thin = (before: number, stretch: number) => remove(thinned, before, before, stretch, stretch);
  return (
    remove("DELETE FROM usage_turns WHERE turn_id IN (SELECT turn_id FROM usage_turns WHERE ended_at_ms < ?", oldest) ||
    remove(
      `DELETE FROM usage_rollup WHERE (dimension, bucket, key) IN
         (SELECT dimension, bucket, key FROM usage_rollup
          WHERE dimension IN (${dimensions.map((name) => `'${name}'`).join(", ")}) AND bucket < ?`,
      Math.floor(oldest / quarterMs),
    ) ||
    remove(`${ofReadings} read_at_ms < ?`, oldest) ||
    thin(nowMs - 60 * dayMs, dayMs) ||
    thin(nowMs - 7 * dayMs, hourMs)
  );
}

const ofReadings =
  "DELETE FROM usage_snapshots WHERE (ide, read_at_ms) IN (SELECT ide, read_at_ms FROM usage_snapshots AS s WHERE";

/** Readings before a time that a later one of the same IDE follows in the same stretch. The table's key finds the later one in one step. */
const thinned = `${ofReadings} read_at_ms < ? AND EXISTS (
  SELECT 1 FROM usage_snapshots AS later WHERE later.ide = s.ide AND later.read_at_ms > s.read_at_ms
  AND later.read_at_ms < min(?, (s.read_at_ms / CAST(? AS INTEGER) + 1) * CAST(? AS INTEGER)))`;
