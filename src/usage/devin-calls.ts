import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { loadSqlite } from "../base/node/load-sqlite.ts";
import { ownTurn } from "../base/node/unhurried.ts";
import { type DevinCall, type Elsewhere, plus, summed } from "./elsewhere.ts";
import type { SpendDimension, SpendQuery } from "./history/history.ts";
import { quarterMs } from "./since.ts";

/** By what these calls can be summed: Devin's records know no client, key and API. */
const dimensions: readonly SpendDimension[] = ["model", "project", "day"];

/** How many messages are known again; the oldest are forgotten. */
const mostSeen = 200_000;

/** How many messages are read at a time: one may have some 50 KB, and the gateway has other work. */
const readAtOnce = 32;

/**
 * Devin's own records of model calls, by its CLI and by Devin Desktop: `cli/sessions.db` beside the CLI's credentials, read only.
 * Source: docs/dev/wire/devin-desktop.md, "The sessions".
 */
export class DevinCalls {
  readonly #file: string;
  /** The last part of the path of folders in which Millrace runs agents. */
  readonly #ownFolder: string;
  /** Calls of others, summed for each quarter of an hour, model and project: reports begin at a quarter, and this does not grow with each call. */
  readonly #sums = new Map<string, DevinCall>();
  /** Messages that were counted, by a digest: a message is stored again for each branch, fork and compaction of its conversation. */
  readonly #seen = new Set<number>();
  readonly #mostSeen: number;
  #lastRow = 0;
  #reading: Promise<void> | undefined;

  constructor(file: string, ownFolder: string, most = mostSeen) {
    this.#mostSeen = most;
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
    return { rows: summed([...this.#sums.values()], query) };
  }

  async #readNew(): Promise<void> {
    const { DatabaseSync } = loadSqlite();
    const database = new DatabaseSync(this.#file, { readOnly: true });
    try {
      database.exec("PRAGMA busy_timeout = 100");
      const { last } = database.prepare("SELECT coalesce(max(rowid), 0) AS last FROM message_nodes").get() ?? {};
      if (Number(last) < this.#lastRow) this.#lastRow = 0; // another file, or its last rows were deleted
      while (this.#lastRow < Number(last)) {
        this.#readSome(database);
        await ownTurn();
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
      if (typeof metrics !== "string") continue;
      const atMs = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
      const id = typeof message === "string" ? `${message} ${String(createdAt ?? session)}` : `row ${this.#lastRow}`;
      const mark = createHash("sha1").update(id).digest().readUIntBE(0, 6);
      if (this.#seen.has(mark)) continue;
      this.#seen.add(mark);
      const [oldest] = this.#seen;
      if (this.#seen.size > this.#mostSeen && oldest !== undefined) this.#seen.delete(oldest);
      const counts = JSON.parse(metrics) as Readonly<Record<string, unknown>>; // SQLite gave it as JSON
      this.#count({
        atMs: Number.isNaN(atMs) ? Number(storedAt) * 1000 : atMs,
        model: typeof model === "string" && model !== "" ? model : undefined,
        project,
        calls: 1,
        input_tokens: tokens(counts["input_tokens"]),
        cache_read_tokens: tokens(counts["cache_read_tokens"]),
        cache_creation_tokens: tokens(counts["cache_creation_tokens"]),
        output_tokens: tokens(counts["output_tokens"]),
      });
    }
  }

  #count(call: DevinCall): void {
    const { project, model } = call;
    if (project?.split(/[\\/]/).at(-1) === this.#ownFolder) return; // the history has Millrace's own
    const atMs = Math.floor(call.atMs / quarterMs) * quarterMs;
    const key = JSON.stringify([atMs, model, project]);
    this.#sums.set(key, { atMs, model, project, ...plus(this.#sums.get(key), call) });
  }
}

function tokens(count: unknown): number {
  return typeof count === "number" && count > 0 ? Math.trunc(count) : 0;
}
