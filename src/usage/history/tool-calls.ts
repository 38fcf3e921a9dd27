import type { DatabaseSync } from "node:sqlite";

/** What became of the calls that one turn's model wrote; counts. */
export interface CallCounts {
  /** Written as taught, with arguments that fit. */
  readonly firstTry: number;
  /** Written otherwise, but without loss to be understood. */
  readonly repaired: number;
  /** Right in the second answer. */
  readonly reasked: number;
  /** Not usable in the second answer either. */
  readonly failed: number;
}

/** The calls of one turn. */
export interface TurnCalls extends CallCounts {
  readonly turnId: string;
  readonly atMs: number;
  /** Model UID. */
  readonly model: string;
}

/** The calls of one model in a time. */
export interface ModelCalls extends CallCounts {
  readonly model: string;
  readonly turns: number;
}

/** How models fare at calling tools, kept over restarts beside the usage of turns. */
export interface ToolCalls {
  /** A turn counts once, whoever tells it how often. */
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
