import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as othersTurn } from "node:timers/promises";
import { loadSqlite } from "../log/sqlite/load-sqlite.ts";
import type { SpendDimension, SpendQuery } from "./history/history.ts";
import { localDays } from "./history/local-days.ts";

/** One model call in Devin's own records, with the tokens that it counted. */
export interface DevinCall {
  readonly atMs: number;
  /** The model UID; undefined where it is not noted. */
  readonly model: string | undefined;
  /** The folder of the session; undefined where it is not noted. */
  readonly project: string | undefined;
  /** With some models without the cached ones. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheCreationTokens: number;
  readonly outputTokens: number;
}

/** Sums of calls that did not go through Millrace. */
export interface ElsewhereSpend extends Omit<DevinCall, "atMs" | "model" | "project"> {
  /** The model UID, the project or the day; undefined if it is not known. */
  readonly key: string | undefined;
  readonly calls: number;
}

/** What Devin used without Millrace; `problem`: why it could not be read. */
export type Elsewhere = { readonly rows: readonly ElsewhereSpend[] } | { readonly problem: string };

/** By what these calls can be summed: Devin's records know no client, key and API. */
const dimensions: readonly SpendDimension[] = ["model", "project", "day"];

/** How many messages are read at a time: one may have some 50 KB, and the gateway has other work. */
const readAtOnce = 32;

/**
 * Devin's own records of model calls, by its CLI and by Devin Desktop: `cli/sessions.db` beside the CLI's credentials, read only.
 * Source: docs/wire/devin-desktop.md, "The sessions".
 */
export class DevinCalls {
  readonly #file: string;
  /** The last part of the path of folders in which Millrace runs agents. */
  readonly #ownFolder: string;
  readonly #calls: DevinCall[] = [];
  /** Messages that were counted: a message is stored again for each branch, fork and compaction of its conversation. */
  readonly #seen = new Set<string>();
  #lastRow = 0;
  #reading: Promise<void> | undefined;

  constructor(file: string, ownFolder: string) {
    this.#file = file;
    this.#ownFolder = ownFolder;
  }

  /** Undefined where there are no records, or they cannot be summed by that. */
  async elsewhere(query: SpendQuery): Promise<Elsewhere | undefined> {
    if (!dimensions.includes(query.by) || !existsSync(this.#file)) return undefined;
    try {
      this.#reading ??= this.#readNew().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
    return { rows: summed(this.#calls, query) };
  }

  async #readNew(): Promise<void> {
    const { DatabaseSync } = await loadSqlite();
    const database = new DatabaseSync(this.#file, { readOnly: true });
    try {
      database.exec("PRAGMA busy_timeout = 100");
      const { last } = database.prepare("SELECT coalesce(max(rowid), 0) AS last FROM message_nodes").get() ?? {};
      if (Number(last) < this.#lastRow) this.#lastRow = 0; // another file, or its last rows were deleted
      while (this.#lastRow < Number(last)) {
        this.#readSome(database);
        await othersTurn();
      }
    } finally {
      database.close();
    }
  }

  #readSome(database: DatabaseSync): void {
    const rows = database
      .prepare(
        `SELECT m.rowid AS row, m.session_id AS session, m.created_at AS storedAt, s.working_directory AS folder,
           json_extract(m.chat_message, '$.message_id') AS message,
           json_extract(m.chat_message, '$.metadata.created_at') AS createdAt,
           json_extract(m.chat_message, '$.metadata.generation_model') AS model,
           json_extract(m.chat_message, '$.metadata.metrics') AS metrics
         FROM (SELECT rowid, session_id, created_at, iif(json_valid(chat_message), chat_message, '{}') AS chat_message
               FROM message_nodes WHERE rowid > ? ORDER BY rowid LIMIT ?) m
         LEFT JOIN sessions s ON s.id = m.session_id ORDER BY row`,
      )
      .all(this.#lastRow, readAtOnce);
    for (const { row, session, storedAt, folder, message, createdAt, model, metrics } of rows) {
      this.#lastRow = Number(row);
      const project = typeof folder === "string" ? folder : undefined;
      if (typeof metrics !== "string" || project?.split(/[\\/]/).at(-1) === this.#ownFolder) continue;
      const atMs = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
      const id = typeof message === "string" ? `${message} ${String(createdAt ?? session)}` : `row ${this.#lastRow}`;
      if (this.#seen.has(id)) continue;
      this.#seen.add(id);
      const counts = JSON.parse(metrics) as Readonly<Record<string, unknown>>; // SQLite gave it as JSON
      this.#calls.push({
        atMs: Number.isNaN(atMs) ? Number(storedAt) * 1000 : atMs,
        model: typeof model === "string" && model !== "" ? model : undefined,
        project,
        inputTokens: tokens(counts["input_tokens"]),
        cacheReadTokens: tokens(counts["cache_read_tokens"]),
        cacheCreationTokens: tokens(counts["cache_creation_tokens"]),
        outputTokens: tokens(counts["output_tokens"]),
      });
    }
  }
}

function tokens(count: unknown): number {
  return typeof count === "number" && count > 0 ? Math.trunc(count) : 0;
}

function summed(
  calls: readonly DevinCall[],
  { sinceMs, untilMs, by, timeZone }: SpendQuery,
): readonly ElsewhereSpend[] {
  const dayOf = localDays(timeZone);
  const sums = new Map<string | undefined, ElsewhereSpend>();
  for (const call of calls) {
    if (call.atMs < sinceMs || call.atMs >= untilMs) continue;
    const key = by === "model" ? call.model : by === "project" ? call.project : dayOf(call.atMs);
    const sum = sums.get(key);
    sums.set(key, {
      key,
      calls: (sum?.calls ?? 0) + 1,
      inputTokens: (sum?.inputTokens ?? 0) + call.inputTokens,
      cacheReadTokens: (sum?.cacheReadTokens ?? 0) + call.cacheReadTokens,
      cacheCreationTokens: (sum?.cacheCreationTokens ?? 0) + call.cacheCreationTokens,
      outputTokens: (sum?.outputTokens ?? 0) + call.outputTokens,
    });
  }
  const rows = [...sums.values()];
  return by === "day"
    ? rows.sort((a, b) => (a.key ?? "").localeCompare(b.key ?? ""))
    : rows.sort((a, b) => all(b) - all(a));
}

function all({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }: ElsewhereSpend): number {
  return inputTokens + cacheReadTokens + cacheCreationTokens + outputTokens;
}
