import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { requestMistakes } from "../../base/errors.ts";
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
  credits: "credits_hundredths",
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
