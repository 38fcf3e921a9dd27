import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { requestMistakes } from "../../base/errors.ts";
import type { TurnBar } from "./history.ts";
import { type Sums, spendOf } from "./rollup.ts";
import type { TurnOrder, TurnPageFilter, TurnPageQuery, TurnTotals } from "./turn-page-query.ts";

/** The orders of a page of turns, and the SQL of each. */
const orders = {
  time: "ended_at_ms",
  model: "model",
  client: "client",
  project: "project",
  dialect: "dialect",
  tokens_in: "prompt_tokens",
  tokens_out: "completion_tokens + thinking_tokens",
  credits: "coalesce(credits_hundredths, estimated_hundredths)",
  first_token: "first_token_ms",
  duration: "ended_at_ms - started_at_ms",
  status: "outcome || reason",
} as const satisfies Record<TurnOrder, string>;

/** A median of more turns is no better, and takes time. */
const mostTimed = 10_000;

/** As an SQL list: the codes are ours, and have no quotes. */
const mistakes = requestMistakes.map((code) => `'${code}'`).join(", ");

type Row = Readonly<Record<string, string | number | null>>;

export interface TurnPages {
  bars(filter: TurnPageFilter, widthMs: number): readonly TurnBar[];
  page(query: TurnPageQuery): readonly Row[];
  totals(filter: TurnPageFilter): TurnTotals;
}

export function openTurnPages(db: DatabaseSync): TurnPages {
  return {
    page(query) {
      const { where, values } = conditionOf(query);
      const direction = query.descending ? "DESC" : "ASC";
      const order = `(${orders[query.order]}) IS NULL, ${orders[query.order]} ${direction}, turn_id ${direction}`;
      // By time the index gives the order; what is never null needs no more.
      const by = query.order === "time" ? `ended_at_ms ${direction}` : order;
      const sql = `SELECT * FROM usage_turns WHERE ${where} ORDER BY ${by} LIMIT ? OFFSET ?`;
      return db.prepare(sql).all(...values, query.limit, query.offset) as Row[]; // the table's own columns
    },
    bars(filter, widthMs) {
      const { where, values } = conditionOf(filter);
      const tokens = "prompt_tokens + completion_tokens + thinking_tokens";
      const rows = db
        .prepare(
          `SELECT CAST((ended_at_ms - ?) / ? AS INTEGER) AS bar, model, count(*) AS turns, sum(outcome = 'finished') AS finished,
             sum(outcome = 'failed') AS failed, sum(outcome = 'cancelled') AS cancelled,
             sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,
             sum(thinking_tokens) AS thinking_tokens, sum(cached_prompt_tokens) AS cached_prompt_tokens,
             sum(token_source = 'estimated') AS estimated_turns,
             sum(iif(token_source = 'estimated', ${tokens}, 0)) AS estimated_tokens,
             sum(token_source = 'unknown') AS unknown_turns, coalesce(sum(credits_hundredths), 0) AS credits_hundredths,
             count(credits_hundredths) AS credits_known_turns,
             coalesce(sum(estimated_hundredths), 0) AS estimated_hundredths, count(estimated_hundredths) AS priced_turns,
             sum(max(0, ended_at_ms - started_at_ms)) AS duration_ms,
             coalesce(sum(first_token_ms), 0) AS first_token_ms, count(first_token_ms) AS first_token_turns
           FROM usage_turns WHERE ${where} GROUP BY bar, model ORDER BY bar, turns DESC`,
        )
        .all(filter.sinceMs, widthMs, ...values);
      return [...Map.groupBy(rows, (row) => Number(row["bar"]))].map(([bar, ofBar]) => ({
        fromMs: filter.sinceMs + bar * widthMs,
        models: ofBar.map((row) => spendOf(String(row["model"]), row as unknown as Sums)), // the columns selected above
      }));
    },
    totals(filter) {
      const { where, values } = conditionOf(filter);
      const row = db
        .prepare(
          `SELECT count(*) AS turns, coalesce(sum(outcome = 'failed'), 0) AS failed,
             coalesce(sum(outcome = 'failed' AND reason IN (${mistakes})), 0) AS mistaken,
             coalesce(sum(token_source = 'estimated'), 0) AS estimated,
             coalesce(sum(prompt_tokens), 0) AS tokens_in,
             coalesce(sum(completion_tokens + thinking_tokens), 0) AS tokens_out,
             coalesce(sum(credits_hundredths), 0) AS credits, count(credits_hundredths) AS credits_known
           FROM usage_turns WHERE ${where}`,
        )
        .get(...values);
      const number = (column: string) => Number(row?.[column] ?? 0);
      const times = db
        .prepare(
          `SELECT first_token_ms FROM usage_turns WHERE ${where} AND first_token_ms IS NOT NULL
           ORDER BY ended_at_ms DESC LIMIT ${mostTimed}`,
        )
        .all(...values)
        .map((timed) => Number(timed["first_token_ms"]))
        .sort((a, b) => a - b);
      const share = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))];
      return {
        turns: number("turns"),
        failed: number("failed"),
        mistaken: number("mistaken"),
        estimatedTurns: number("estimated"),
        promptTokens: number("tokens_in"),
        outTokens: number("tokens_out"),
        creditsHundredths: number("credits"),
        creditsKnownTurns: number("credits_known"),
        medianFirstTokenMs: share(0.5),
        p95FirstTokenMs: share(0.95),
      };
    },
  };
}

function conditionOf(filter: TurnPageFilter): { readonly where: string; readonly values: readonly SQLInputValue[] } {
  const parts = ["ended_at_ms >= ?", "ended_at_ms < ?"];
  const values: SQLInputValue[] = [filter.sinceMs, filter.untilMs];
  const equal = { turn_id: filter.turnId, outcome: filter.outcome, model: filter.model, client: filter.client };
  for (const [column, value] of Object.entries({ ...equal, dialect: filter.dialect, key: filter.key })) {
    if (value === undefined) continue;
    parts.push(`${column} = ?`);
    values.push(value);
  }
  if (filter.search !== undefined && filter.search !== "") {
    const like = `%${filter.search.replace(/[\\%_]/g, "\\$&")}%`;
    const columns = ["turn_id", "model", "client", "project", "dialect", "reason"];
    const ofNames = "model IN (SELECT model FROM usage_model_names WHERE name LIKE ? ESCAPE '\\')";
    parts.push(`(${[...columns.map((column) => `${column} LIKE ? ESCAPE '\\'`), ofNames].join(" OR ")})`);
    values.push(...columns.map(() => like), like);
  }
  return { where: parts.join(" AND "), values };
}
