import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/base/clock.ts";
import { Secret } from "../../src/base/secret.ts";
import { openLog } from "../../src/log/live.ts";
import { openSqliteRows } from "../../src/log/sqlite.ts";
import { newTurn } from "../../src/log/turn.fake.ts";

/** 200,000 turns in forty days, as the history keeps them. */
const turns = `
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  INSERT INTO usage_turns (turn_id, started_at_ms, ended_at_ms, model, dialect, client, project, ide, token_source, prompt_tokens,
    completion_tokens, thinking_tokens, cached_prompt_tokens, credits_hundredths, first_token_ms, outcome, reason, key)
  SELECT 'turn_old_' || i, :now - i * 17280 - 3000, :now - i * 17280, 'model-' || (i % 5), 'openai-chat', 'client-' || (i % 3),
    '/home/ada/engine', 'devin', 'measured', 100, 20, 5, 0, 100, 300 + i % 400, iif(i % 50, 'finished', 'failed'),
    iif(i % 50, 'stop', 'upstream_failed'), 'owner' FROM n`;
const sums = ["all", "model", "client", "project", "key", "dialect"].map(
  (dimension) => `
  INSERT INTO usage_rollup SELECT '${dimension}', ended_at_ms / 900000, ${dimension === "all" ? "''" : dimension}, count(*),
    sum(outcome = 'finished'), sum(outcome = 'failed'), 0, sum(prompt_tokens), sum(completion_tokens), sum(thinking_tokens), 0, 0, 0, 0,
    sum(credits_hundredths), count(*), 0, 0, sum(ended_at_ms - started_at_ms), sum(first_token_ms), count(*)
  FROM usage_turns GROUP BY 2, 3 ON CONFLICT DO NOTHING`,
);

/** Adds 200,000 turns to the usage history in this file. A gateway made its tables, and runs no more. */
export function addManyTurns(file: string): void {
  const database = new DatabaseSync(file);
  database.prepare(turns).run({ now: Date.now() });
  for (const sum of sums) database.exec(sum);
  database.close();
}

/** Adds 10,000 ended turns to the log in this folder, each with a question and an answer of ordinary length. A gateway made it, and runs no more. */
export async function addLoggedTurns(folder: string): Promise<void> {
  const gatewayKey = new Secret(readFileSync(join(folder, "log-key"), "utf8").trim());
  const open = async () => ({ rows: await openSqliteRows({ path: join(folder, "turns.db") }), gatewayKey });
  const log = await openLog({ open, abilities: { survivesRestart: true, isShared: false }, clock: systemClock });
  const text = "some words of an ordinary answer ".repeat(100);
  const finished = { type: "finished", reason: { unified: "stop", raw: undefined }, text } as const;
  for (let round = 0; round < 100; round++) {
    const turns = Array.from({ length: 100 }, () => newTurn({ createdAtMs: Date.now() }));
    const begun = await Promise.all(turns.map((turn) => log.create(turn, "home/0", { flush: false })));
    await Promise.all(
      begun.map(async ({ writer }) => writer?.append([{ type: "text", delta: text }, finished], Date.now())),
    );
  }
  await log.close();
}
