import type { DatabaseSync } from "node:sqlite";
import type { ModelCalls, TurnCalls } from "./tool-calls.ts";

/** How models fare at calling tools, kept over restarts beside the usage of turns. */
export interface ToolCalls {
  /** A turn counts once, even if it is reported several times. */
  add(calls: TurnCalls): void;
  /** Every model that wrote a call from `sinceMs` (inclusive) to `untilMs` (exclusive), most calls first. */
  byModel(sinceMs: number, untilMs: number): readonly ModelCalls[];
}

/** Reads and writes the table `usage_tool_calls` of the usage history. */
export function openToolCalls(db: DatabaseSync): ToolCalls {
  const insert = db.prepare(
    `INSERT INTO usage_tool_calls (turn_id, at_ms, model, first_try, repaired, reasked, failed)
     VALUES (:turnId, :atMs, :model, :firstTry, :repaired, :reasked, :failed) ON CONFLICT DO NOTHING`,
  );
  const sums = db.prepare(
    `SELECT model, count(*) AS turns, sum(first_try) AS first_try, sum(repaired) AS repaired, sum(reasked) AS reasked,
       sum(failed) AS failed FROM usage_tool_calls WHERE at_ms >= ? AND at_ms < ?
     GROUP BY model ORDER BY sum(first_try + repaired + reasked + failed) DESC, model`,
  );
  return {
    add: (calls) => void insert.run({ ...calls }),
    byModel: (sinceMs, untilMs) =>
      sums.all(sinceMs, untilMs).map((row) => ({
        model: String(row["model"]),
        turns: Number(row["turns"]),
        firstTry: Number(row["first_try"]),
        repaired: Number(row["repaired"]),
        reasked: Number(row["reasked"]),
        failed: Number(row["failed"]),
      })),
  };
}
