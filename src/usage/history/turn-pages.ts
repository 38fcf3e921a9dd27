import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { requestMistakes } from "../../base/errors.ts";
import { quarterMs } from "../since.ts";
import type { UsageReads } from "./history.ts";
import { type Sums, spendOf, sums, turnSums } from "./rollup.ts";
import type { TurnGroups, TurnOrder, TurnPageFilter, TurnPageQuery } from "./turn-page-query.ts";

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
const mostTimed = 1_000;

/** As an SQL list: the codes are ours, and have no quotes. */
const mistakes = requestMistakes.map((code) => `'${code}'`).join(", ");

type Row = Readonly<Record<string, string | number | null>>;

export type TurnPages = Readonly<{
  bars: UsageReads["turnBars"];
  page(query: TurnPageQuery): readonly Row[];
  totals: UsageReads["turnTotals"];
  groups: UsageReads["turnGroups"];
}>;

export function openTurnPages(db: DatabaseSync): TurnPages {
  const total = sums.map((column) => `coalesce(sum(${column}), 0) AS ${column}`).join(", ");
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
      const { sql, values } = sumsOf(filter, "model", widthMs);
      const rows = db
        .prepare(
          `SELECT CAST((at_ms - ?) / ? AS INTEGER) AS bar, key, ${total} FROM (${sql})
           GROUP BY bar, key ORDER BY bar, turns DESC`,
        )
        .all(filter.sinceMs, widthMs, ...values);
      return [...Map.groupBy(rows, (row) => Number(row["bar"]))].map(([bar, ofBar]) => ({
        fromMs: filter.sinceMs + bar * widthMs,
        models: ofBar.map(({ bar: _bar, key, ...row }) => spendOf(String(key), row as unknown as Sums)), // the columns selected above
      }));
    },
    totals(filter) {
      const { sql, values } = sumsOf(filter, "all", quarterMs);
      const sum = db.prepare(`SELECT ${total} FROM (${sql})`).get(...values) as unknown as Sums; // as above
      const { where, values: asked } = conditionOf(filter);
      const mistaken = db
        .prepare(
          `SELECT count(*) AS n FROM usage_turns WHERE ${where} AND outcome = 'failed' AND reason IN (${mistakes})`,
        )
        .get(...asked);
      const times = db
        .prepare(
          `SELECT first_token_ms FROM usage_turns WHERE ${where} AND first_token_ms IS NOT NULL
           ORDER BY ended_at_ms DESC LIMIT ${mostTimed}`,
        )
        .all(...asked)
        .map((timed) => Number(timed["first_token_ms"]))
        .sort((a, b) => a - b);
      const share = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? null;
      return {
        turns: sum.turns,
        failed: sum.failed,
        mistaken: Number(mistaken?.["n"]),
        estimated_turns: sum.estimated_turns,
        tokens_in: sum.prompt_tokens,
        tokens_out: sum.completion_tokens + sum.thinking_tokens,
        credits: sum.credits_hundredths / 100,
        credits_known_turns: sum.credits_known_turns,
        median_first_token_ms: share(0.5),
        p95_first_token_ms: share(0.95),
      };
    },
    // From value to value in an index: a history of any length is some steps for each value.
    groups() {
      const valuesOf = (column: keyof TurnGroups) =>
        db
          .prepare(
            `WITH RECURSIVE found (value) AS (
               SELECT min(${column}) FROM usage_turns
               UNION ALL SELECT (SELECT min(${column}) FROM usage_turns WHERE ${column} > value) FROM found WHERE value IS NOT NULL
             ) SELECT value FROM found WHERE value IS NOT NULL`,
          )
          .all()
          .map(({ value }) => String(value));
      return { model: valuesOf("model"), client: valuesOf("client"), key: valuesOf("key") };
    },
  };
}

/**
 * The sums of the turns that a filter takes, with a time and a key: whole quarters of an hour from the rollup where it has such sums,
 * and each turn where it has none. `dimension`: what the key is.
 */
function sumsOf(filter: TurnPageFilter, dimension: "all" | "model", widthMs: number) {
  const { sinceMs, untilMs, turnId, outcome, search, model, client, dialect, key } = filter;
  const each = (from: number) => {
    const { where, values } = conditionOf({ ...filter, sinceMs: from });
    const shown = `SELECT ended_at_ms AS at_ms, ${dimension === "all" ? "''" : "model"} AS key, ${turnSums} FROM usage_turns`;
    return { sql: `${shown} WHERE ${where}`, values };
  };
  const [one, ...others] = Object.entries({ model, client, dialect, key }).filter(([, value]) => value !== undefined);
  const summed = one?.[0] ?? dimension;
  const isKept = others.length === 0 && (dimension === "all" || summed === "model");
  const isWhole = [turnId, outcome, search || undefined].every((value) => value === undefined);
  if (!isKept || !isWhole || sinceMs % quarterMs !== 0 || widthMs % quarterMs !== 0) return each(sinceMs);
  const [from, until] = [sinceMs / quarterMs, Math.floor(untilMs / quarterMs)];
  const rest = each(Math.max(sinceMs, until * quarterMs));
  const ofKey = one?.[1] === undefined ? [] : [one[1]];
  return {
    sql: `SELECT bucket * ${quarterMs} AS at_ms, key, ${sums.join(", ")} FROM usage_rollup
      WHERE dimension = ? AND bucket >= ? AND bucket < ?${ofKey.length === 0 ? "" : " AND key = ?"} UNION ALL ${rest.sql}`,
    values: [summed, from, until, ...ofKey, ...rest.values],
  };
}

function conditionOf(filter: TurnPageFilter): { readonly where: string; readonly values: readonly SQLInputValue[] } {
  const parts = ["ended_at_ms >= ?", "ended_at_ms < ?"];
  const values: SQLInputValue[] = [filter.sinceMs, filter.untilMs];
  const { turnId: turn_id, model, client, dialect, key } = filter;
  // As it stands: only then SQLite knows that the index of failed turns has them all. It is one of three words.
  if (filter.outcome !== undefined) parts.push(`outcome = '${filter.outcome}'`);
  for (const [column, value] of Object.entries({ turn_id, model, client, dialect, key })) {
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
