import type { DatabaseSync } from "node:sqlite";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import { makeDatabaseFile } from "../../log/sqlite/open-file.ts";
import { isDamaged, LockPatience, lockTimeoutMs, translateSqliteError } from "../../log/sqlite/sqlite-errors.ts";
import type { LimitsSnapshot } from "../limits.ts";
import type { FinishedTurn } from "./finished-turn.ts";
import type { ExplainedCost, UsageHistory } from "./history.ts";
import { openModelNames } from "./model-name-rows.ts";
import { sweepHistory } from "./retention.ts";
import { openRollup } from "./rollup.ts";
import { makeTables, refuseOther } from "./schema.ts";
import { openTurnPages } from "./turn-pages.ts";

export interface HistoryOptions {
  /** The event log's file (made with mode 0600 if absent), or `:memory:`. */
  readonly file: string;
  /** How long opening waits for another program's lock; ms. */
  readonly openTimeoutMs?: number;
  /** Only reads, in a file that another connection made. */
  readonly readOnly?: boolean;
  /** Moves a damaged file away, so that a new one can be opened; where not given, that fails. */
  readonly setAside?: () => void;
}

type Row = Readonly<Record<string, string | number | null>>;

/**
 * Opens the usage history in the event log's file, over a connection of its own.
 *
 * @throws MillraceError `degraded` when the file cannot be used or another version of Millrace wrote it.
 */
export function openHistory(options: HistoryOptions): UsageHistory {
  const { file } = options;
  const db = translated(file, () => openFile(options));
  const statements = prepare(db);
  const rollup = openRollup(db);
  const modelNames = openModelNames(db);
  const turnPages = openTurnPages(db);
  const patience = new LockPatience(db);
  const guarded = <T>(work: () => T) =>
    translated(file, () => {
      try {
        return work();
      } catch (error) {
        patience.failed(error);
        throw error;
      }
    });
  const written = <T>(work: () => T) =>
    guarded(() => {
      const result = work();
      patience.wrote();
      return result;
    });
  const atomic = <T>(work: () => T): T => {
    db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
  };

  function addTurn({ modelName, ...turn }: FinishedTurn): boolean {
    const { changes } = statements.insertTurn.run({
      ...turn,
      client: turn.client ?? null,
      project: turn.project ?? null,
      key: turn.key ?? null,
      ide: turn.ide ?? null,
      creditsHundredths: turn.creditsHundredths ?? null,
      estimatedHundredths: turn.estimatedHundredths ?? null,
      firstTokenMs: turn.firstTokenMs ?? null,
    });
    if (Number(changes) === 0) return false;
    rollup.add(turn);
    if (modelName !== undefined) modelNames.note(turn.model, modelName, turn.endedAtMs);
    return true;
  }

  function addSnapshot(snapshot: LimitsSnapshot): void {
    statements.insertSnapshot.run({
      ide: snapshot.ide,
      readAtMs: snapshot.readAtMs,
      build: snapshot.build,
      shape: snapshot.shape,
      planName: snapshot.planName ?? null,
      windows: JSON.stringify(snapshot.windows),
    });
  }

  return {
    degradedBy: undefined,
    addTurn: (turn) => written(() => atomic(() => addTurn(turn))),
    addTurns: (turns) => written(() => atomic(() => turns.map(addTurn))),
    addSnapshot: (snapshot) => written(() => atomic(() => addSnapshot(snapshot))),
    latestSnapshots: (sinceMs) => guarded(() => (statements.latest.all(sinceMs) as Row[]).map(snapshotOf)),
    snapshots: ({ ide, sinceMs, untilMs }) =>
      guarded(() => (statements.between.all(sinceMs, untilMs, ide ?? null, ide ?? null) as Row[]).map(snapshotOf)),
    spend: (query) => guarded(() => rollup.spend(query)),
    spendByDay: (query) => guarded(() => rollup.spendByDay(query)),
    lastUses: (models) =>
      guarded(() => {
        const used = models.map((model) => [model, statements.lastUse.get(model)?.["at_ms"]] as const);
        return new Map(used.flatMap(([model, atMs]) => (atMs == null ? [] : [[model, Number(atMs)] as const])));
      }),
    modelNames: (untilMs) => guarded(() => modelNames.before(untilMs)),
    turnPage: (query) => guarded(() => turnPages.page(query).map(turnOf)),
    turnTotals: (filter) => guarded(() => turnPages.totals(filter)),
    turnBars: (filter, widthMs) => guarded(() => turnPages.bars(filter, widthMs)),
    turnGroups: () => guarded(() => turnPages.groups()),
    turn: (turnId) =>
      guarded(() => {
        const row = statements.turn.get(turnId);
        return row === undefined ? undefined : turnOf(row as Row);
      }),
    explained: (ide: IdeVariant, fromMs: number, toMs: number): ExplainedCost =>
      guarded(() => {
        const row = statements.explained.get(fromMs, toMs, ide, ide);
        return {
          turns: Number(row?.["turns"] ?? 0),
          creditsHundredths: Number(row?.["credits"] ?? 0),
          unknownTurns: Number(row?.["unknown"] ?? 0),
        };
      }),
    sweep: (nowMs) => written(() => atomic(() => sweepHistory(db, nowMs))),
    close: () => db.close(),
  };
}

function openFile({ file, openTimeoutMs = lockTimeoutMs, readOnly = false, setAside }: HistoryOptions): DatabaseSync {
  if (file !== ":memory:" && !readOnly) makeDatabaseFile(file);
  const opened = new (loadSqlite().DatabaseSync)(file, { readOnly });
  try {
    opened.exec(`PRAGMA busy_timeout = ${openTimeoutMs}`);
    refuseOther(opened); // before anything of the file is changed
    if (readOnly) return opened;
    opened.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    makeTables(opened);
    opened.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    return opened;
  } catch (error) {
    opened.close();
    if (setAside === undefined || !isDamaged(error)) throw error;
    setAside();
    return openFile({ file, openTimeoutMs });
  }
}

function prepare(db: DatabaseSync) {
  const light = "ide, read_at_ms, build, shape, plan_name, windows";
  return {
    insertTurn: db.prepare(
      `INSERT INTO usage_turns (turn_id, started_at_ms, ended_at_ms, model, dialect, client, project, ide, token_source,
         prompt_tokens, completion_tokens, thinking_tokens, cached_prompt_tokens, credits_hundredths, first_token_ms,
         outcome, reason, key, estimated_hundredths)
       VALUES (:turnId, :startedAtMs, :endedAtMs, :model, :dialect, :client, :project, :ide, :tokenSource,
         :promptTokens, :completionTokens, :thinkingTokens, :cachedPromptTokens, :creditsHundredths, :firstTokenMs,
         :outcome, :reason, :key, :estimatedHundredths) ON CONFLICT DO NOTHING`,
    ),
    insertSnapshot: db.prepare(
      `INSERT INTO usage_snapshots (ide, read_at_ms, build, shape, plan_name, windows, raw)
       VALUES (:ide, :readAtMs, :build, :shape, :planName, :windows, 'null') ON CONFLICT DO NOTHING`,
    ),
    latest: db.prepare(
      `SELECT ${light} FROM usage_snapshots s WHERE read_at_ms >= ?
       AND read_at_ms = (SELECT max(read_at_ms) FROM usage_snapshots WHERE ide = s.ide) ORDER BY read_at_ms`,
    ),
    between: db.prepare(
      `SELECT ${light} FROM usage_snapshots WHERE read_at_ms >= ? AND read_at_ms < ? AND (? IS NULL OR ide = ?)
       ORDER BY read_at_ms`,
    ),
    turn: db.prepare("SELECT * FROM usage_turns WHERE turn_id = ?"),
    lastUse: db.prepare("SELECT max(ended_at_ms) AS at_ms FROM usage_turns WHERE model = ?"),
    explained: db.prepare(
      `SELECT count(*) AS turns, sum(credits_hundredths) AS credits, count(*) - count(credits_hundredths) AS unknown
       FROM usage_turns WHERE ended_at_ms > ? AND ended_at_ms <= ? AND (ide = ? OR (ide IS NULL AND ? <> 'antigravity'))`,
    ),
  };
}

function snapshotOf(row: Row): LimitsSnapshot {
  return {
    ide: row["ide"] as LimitsSnapshot["ide"], // written from a snapshot, as all below
    build: String(row["build"]),
    readAtMs: Number(row["read_at_ms"]),
    source: "language_server", // the meter keeps no saved plans
    shape: row["shape"] as LimitsSnapshot["shape"], // as above
    planName: row["plan_name"] === null ? undefined : String(row["plan_name"]),
    windows: (JSON.parse(String(row["windows"])) as LimitsSnapshot["windows"]).map(withAbsent), // as above
  };
}

/** JSON drops undefined members; a window has them all. */
function withAbsent(window: LimitsSnapshot["windows"][number]): LimitsSnapshot["windows"][number] {
  const { used, limit, remaining, utilization, resetsAtMs, windowSeconds } = window;
  return { ...window, used, limit, remaining, utilization, resetsAtMs, windowSeconds };
}

function turnOf(row: Row): FinishedTurn {
  const number = (column: string) => (row[column] === null ? undefined : Number(row[column]));
  const text = (column: string) => (row[column] === null ? undefined : String(row[column]));
  return {
    turnId: String(row["turn_id"]),
    startedAtMs: Number(row["started_at_ms"]),
    endedAtMs: Number(row["ended_at_ms"]),
    model: String(row["model"]),
    dialect: String(row["dialect"]),
    client: text("client"),
    project: text("project"),
    ...(row["key"] === null ? {} : { key: String(row["key"]) }),
    ide: text("ide") as IdeVariant | undefined, // written from a turn, as those below
    tokenSource: row["token_source"] as FinishedTurn["tokenSource"],
    promptTokens: Number(row["prompt_tokens"]),
    completionTokens: Number(row["completion_tokens"]),
    thinkingTokens: Number(row["thinking_tokens"]),
    cachedPromptTokens: Number(row["cached_prompt_tokens"]),
    creditsHundredths: number("credits_hundredths"),
    ...(row["estimated_hundredths"] === null ? {} : { estimatedHundredths: Number(row["estimated_hundredths"]) }),
    firstTokenMs: number("first_token_ms"),
    outcome: row["outcome"] as FinishedTurn["outcome"],
    reason: String(row["reason"]),
  };
}

function translated<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (isMillraceError(cause)) throw cause;
    const why = translateSqliteError(cause, `The usage history (${file})`);
    throw new MillraceError(
      "degraded",
      isMillraceError(why) ? why.message : `The usage history (${file}) cannot be used.`,
      {
        hint: "End the program that locks it, free disk space or repair the file. Answers still work, and a running gateway keeps their usage in memory until then.",
        cause,
      },
    );
  }
}
