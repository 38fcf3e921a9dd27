import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { quarterMs } from "../since.ts";
import type { FinishedTurn } from "./finished-turn.ts";
import type { DaySpend, DaysQuery, Spend, SpendQuery } from "./history.ts";
import { daysBetween, localDays } from "./local-days.ts";

/** The sums of a rollup, as columns; a turn adds to each, a query sums each. */
export const sums = [
  "turns",
  "finished",
  "failed",
  "cancelled",
  "prompt_tokens",
  "completion_tokens",
  "thinking_tokens",
  "cached_prompt_tokens",
  "estimated_turns",
  "estimated_tokens",
  "unknown_turns",
  "credits_hundredths",
  "credits_known_turns",
  "estimated_hundredths",
  "priced_turns",
  "duration_ms",
  "first_token_ms",
  "first_token_turns",
] as const;

/** What it sums by: `all` is one sum of all turns. */
export const dimensions = ["all", "model", "client", "project", "key", "dialect"] as const;

/** A row with all of them. */
export type Sums = Readonly<Record<(typeof sums)[number], number>>;

const tokensOfTurn = "prompt_tokens + completion_tokens + thinking_tokens";

/** The same of one turn, from its row in `usage_turns`. */
export const turnSums = `1 AS turns, outcome = 'finished' AS finished, outcome = 'failed' AS failed, outcome = 'cancelled' AS cancelled,
  prompt_tokens, completion_tokens, thinking_tokens, cached_prompt_tokens, token_source = 'estimated' AS estimated_turns,
  iif(token_source = 'estimated', ${tokensOfTurn}, 0) AS estimated_tokens, token_source = 'unknown' AS unknown_turns,
  coalesce(credits_hundredths, 0) AS credits_hundredths, credits_hundredths IS NOT NULL AS credits_known_turns,
  coalesce(estimated_hundredths, 0) AS estimated_hundredths, estimated_hundredths IS NOT NULL AS priced_turns,
  max(0, ended_at_ms - started_at_ms) AS duration_ms, coalesce(first_token_ms, 0) AS first_token_ms,
  first_token_ms IS NOT NULL AS first_token_turns`;

/** Sums by quarter of an hour, kept beside the turns in one transaction with them. */
export interface Rollup {
  add(turn: FinishedTurn): void;
  spend(query: SpendQuery): readonly Spend[];
  spendByDay(query: DaysQuery): readonly DaySpend[];
}

export function openRollup(db: DatabaseSync): Rollup {
  const upsert = db.prepare(
    `INSERT INTO usage_rollup (dimension, bucket, key, ${sums.join(", ")})
     VALUES (?, ?, ?, ${sums.map(() => "?").join(", ")})
     ON CONFLICT DO UPDATE SET ${sums.map((column) => `${column} = ${column} + excluded.${column}`).join(", ")}`,
  );
  const total = sums.map((column) => `sum(${column}) AS ${column}`).join(", ");
  const byKey = db.prepare(
    `SELECT key, ${total} FROM usage_rollup WHERE dimension = ? AND bucket >= ? AND bucket < ? GROUP BY key`,
  );
  const byBucket = db.prepare(
    `SELECT bucket, ${sums.join(", ")} FROM usage_rollup WHERE dimension = 'all' AND bucket >= ? AND bucket < ?`,
  );
  const byKeyIn = (dimension: string, range: readonly [from: number, until: number]) =>
    rows(byKey, [dimension, ...range])
      .toSorted((a, b) => hundredths(b) - hundredths(a) || tokens(b) - tokens(a) || b.turns - a.turns)
      .map((row) => spendOf(String(row["key"]), row));
  return {
    add(turn) {
      const bucket = Math.floor(turn.endedAtMs / quarterMs);
      const added = sumsOf(turn);
      const values = sums.map((column) => added[column]);
      for (const dimension of dimensions)
        upsert.run(dimension, bucket, dimension === "all" ? "" : (turn[dimension] ?? ""), ...values);
    },
    spend({ by, sinceMs, untilMs, timeZone }) {
      const range = [Math.floor(sinceMs / quarterMs), Math.ceil(untilMs / quarterMs)] as const;
      if (by === "day") return sumsByDay(rows(byBucket, range), timeZone);
      return byKeyIn(by, range);
    },
    // One range of the table's key for each day: SQLite sums the rows in it and reads no others.
    spendByDay: (query) =>
      daysBetween(query, quarterMs).map(({ day, sinceMs, untilMs }) => ({
        day,
        models: byKeyIn("model", [Math.floor(sinceMs / quarterMs), Math.ceil(untilMs / quarterMs)]),
      })),
  };
}

function rows(statement: StatementSync, values: readonly SQLInputValue[]): readonly (Sums & Record<string, unknown>)[] {
  return statement.all(...values) as unknown as readonly (Sums & Record<string, unknown>)[]; // the columns selected above
}

function sumsOf(turn: FinishedTurn): Sums {
  const estimated = turn.tokenSource === "estimated";
  return {
    turns: 1,
    finished: turn.outcome === "finished" ? 1 : 0,
    failed: turn.outcome === "failed" ? 1 : 0,
    cancelled: turn.outcome === "cancelled" ? 1 : 0,
    prompt_tokens: turn.promptTokens,
    completion_tokens: turn.completionTokens,
    thinking_tokens: turn.thinkingTokens,
    cached_prompt_tokens: turn.cachedPromptTokens,
    estimated_turns: estimated ? 1 : 0,
    estimated_tokens: estimated ? turn.promptTokens + turn.completionTokens + turn.thinkingTokens : 0,
    unknown_turns: turn.tokenSource === "unknown" ? 1 : 0,
    credits_hundredths: turn.creditsHundredths ?? 0,
    credits_known_turns: turn.creditsHundredths === undefined ? 0 : 1,
    estimated_hundredths: turn.estimatedHundredths ?? 0,
    priced_turns: turn.estimatedHundredths === undefined ? 0 : 1,
    duration_ms: Math.max(0, turn.endedAtMs - turn.startedAtMs),
    first_token_ms: turn.firstTokenMs ?? 0,
    first_token_turns: turn.firstTokenMs === undefined ? 0 : 1,
  };
}

function sumsByDay(buckets: readonly (Sums & Record<string, unknown>)[], timeZone: string): readonly Spend[] {
  const dayOf = localDays(timeZone);
  const days = Map.groupBy(buckets, (row) => dayOf(Number(row["bucket"]) * quarterMs));
  return [...days]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([day, ofDay]) => {
      const total = Object.fromEntries(
        sums.map((column) => [column, ofDay.reduce((sum, row) => sum + row[column], 0)]),
      );
      return spendOf(day, total as Sums); // every column is in `sums`
    });
}

export function spendOf(key: string, row: Sums): Spend {
  const { credits_hundredths, estimated_hundredths, priced_turns, first_token_ms, first_token_turns, ...same } = row;
  return {
    ...same,
    key: key === "" ? null : key,
    credits: credits_hundredths / 100,
    credits_estimated: estimated_hundredths / 100,
    credits_estimated_turns: priced_turns,
    mean_first_token_ms: first_token_turns === 0 ? null : Math.round(first_token_ms / first_token_turns),
  };
}

function hundredths(row: Sums): number {
  return row.credits_hundredths + row.estimated_hundredths;
}

function tokens(row: Sums): number {
  return row.prompt_tokens + row.completion_tokens + row.thinking_tokens;
}
