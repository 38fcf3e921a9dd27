import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../base/errors.ts";
import { applicationId } from "../../log/sqlite/open-file.ts";

/**
 * The usage tables. They are in the event log's file under names of their own and with a version of their own, so that log and
 * history change apart. The version only grows.
 *
 * `usage_rollup` holds sums for each quarter of an hour (`quarterMs`) and each value of a dimension: for 200,000
 * turns only some thousand rows are read. `''` means "unknown". Nothing reads `raw`, `cascade_id`, `plan_window`, `plan_before` and `plan_after`: the form
 * keeps them for builds before.
 */
const version = 8;

/** Earlier versions that are moved on, and what those lack: 6 and 7 are of November 2026, as is 1, which came after them. */
const moved: ReadonlySet<number> = new Set([1, 6, 7]);
const lacking = [
  ["usage_turns", "cascade_id", "TEXT"],
  ["usage_turns", "estimated_hundredths", "INTEGER"],
  ["usage_rollup", "estimated_hundredths", "INTEGER NOT NULL DEFAULT 0"],
  ["usage_rollup", "priced_turns", "INTEGER NOT NULL DEFAULT 0"],
] as const;

const tables = `
  CREATE TABLE usage_snapshots (
    ide TEXT NOT NULL, read_at_ms INTEGER NOT NULL, build TEXT NOT NULL, shape TEXT NOT NULL, plan_name TEXT,
    windows TEXT NOT NULL, raw TEXT NOT NULL,
    PRIMARY KEY (ide, read_at_ms)
  ) WITHOUT ROWID;
  CREATE TABLE usage_turns (
    turn_id TEXT PRIMARY KEY, started_at_ms INTEGER NOT NULL, ended_at_ms INTEGER NOT NULL,
    model TEXT NOT NULL, dialect TEXT NOT NULL, client TEXT, project TEXT, ide TEXT,
    token_source TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    thinking_tokens INTEGER NOT NULL, cached_prompt_tokens INTEGER NOT NULL, credits_hundredths INTEGER,
    first_token_ms INTEGER, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    plan_window TEXT, plan_before REAL, plan_after REAL, key TEXT, cascade_id TEXT,
    estimated_hundredths INTEGER
  );
  CREATE TABLE usage_rollup (
    dimension TEXT NOT NULL, bucket INTEGER NOT NULL, key TEXT NOT NULL,
    turns INTEGER NOT NULL, finished INTEGER NOT NULL, failed INTEGER NOT NULL, cancelled INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, thinking_tokens INTEGER NOT NULL,
    cached_prompt_tokens INTEGER NOT NULL, estimated_turns INTEGER NOT NULL, estimated_tokens INTEGER NOT NULL,
    unknown_turns INTEGER NOT NULL, credits_hundredths INTEGER NOT NULL, credits_known_turns INTEGER NOT NULL,
    estimated_hundredths INTEGER NOT NULL, priced_turns INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL, first_token_ms INTEGER NOT NULL, first_token_turns INTEGER NOT NULL,
    PRIMARY KEY (dimension, bucket, key)
  ) WITHOUT ROWID;
  CREATE TABLE usage_model_names (
    model TEXT NOT NULL, since_ms INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (model, since_ms)
  ) WITHOUT ROWID;
`;

/** Made where they are missing, also in an older file: every build of this version keeps them. */
const indexes = `
  CREATE INDEX IF NOT EXISTS usage_turns_by_end ON usage_turns (ended_at_ms, ide, credits_hundredths);
  CREATE INDEX IF NOT EXISTS usage_turns_by_model ON usage_turns (model, ended_at_ms); -- the last use of a model is one look into it
  CREATE INDEX IF NOT EXISTS usage_turns_by_client ON usage_turns (client, ended_at_ms);
  CREATE INDEX IF NOT EXISTS usage_turns_by_key ON usage_turns (key, ended_at_ms);
  CREATE INDEX IF NOT EXISTS usage_turns_failed ON usage_turns (ended_at_ms, reason) WHERE outcome = 'failed';
`;

function hasTables(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'usage_schema'").get() !== undefined;
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare("SELECT max(version) AS version FROM usage_schema").get()?.["version"] ?? 0);
}

/** Throws `degraded` for tables of a version that cannot be moved on. Only reads. */
export function refuseOther(db: DatabaseSync): void {
  const found = hasTables(db) ? versionOf(db) : version;
  if (found === version || moved.has(found)) return;
  throw new MillraceError(
    "degraded",
    `The usage history was written by another version of Millrace (its version ${found}; this one knows ${version}).`,
    { hint: "Use that version of Millrace, or set MILLRACE_HOME to another folder. Nothing was changed." },
  );
}

/**
 * Makes the usage tables in a file that has none, or moves those of an earlier version on, all or nothing.
 *
 * @throws MillraceError `degraded` when the tables have another version, or the file is another program's; nothing is changed then.
 */
export function makeTables(db: DatabaseSync): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    claimFile(db);
    refuseOther(db);
    if (!hasTables(db)) {
      db.exec(
        `CREATE TABLE usage_schema (version INTEGER NOT NULL); INSERT INTO usage_schema VALUES (${version}); ${tables}`,
      );
    }
    if (versionOf(db) !== version) moveOn(db);
    db.exec(indexes);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function moveOn(db: DatabaseSync): void {
  for (const [table, column, type] of lacking) {
    const isThere = db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = ?").get(table, column) !== undefined;
    if (!isThere) db.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`);
  }
  db.exec("DROP TABLE IF EXISTS usage_tool_calls; DROP TABLE IF EXISTS usage_resumptions");
  db.exec(`INSERT INTO usage_schema VALUES (${version})`);
}

/** Marks a fresh file as Millrace's, as the event log does: either of the two may create the file. (`millrace usage` may run before any gateway did.) */
function claimFile(db: DatabaseSync): void {
  if (Number(db.prepare("PRAGMA application_id").get()?.["application_id"]) === applicationId) return;
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE tbl_name NOT LIKE 'usage!_%' ESCAPE '!'");
  if (Number(tables.get()?.["n"]) > 0) {
    throw new MillraceError("degraded", "The file of the usage history belongs to another program.", {
      hint: "Set MILLRACE_HOME to a folder of Millrace's own. Nothing was changed.",
    });
  }
  db.exec(`PRAGMA application_id = ${applicationId}`);
}
