import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { turnFake } from "../src/usage/history/history.fake.ts";
import { spendDimensions } from "../src/usage/history/history.ts";
import { openHistory } from "../src/usage/history/sqlite-history.ts";

/**
 * Reports over a history of 200,000 turns in 30 days: opening the file and asking for each dimension. The ratio is against
 * the same sums made from the turns themselves, in the same run. Exits 1 when a report takes longer than it may.
 */
const turns = 200_000;
const mayTakeMs = 300;
const days30Ms = 30 * 86_400_000;
const nowMs = Date.parse("2026-11-21T12:00:00Z");

const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const file = join(folder, "turns.db");
try {
  fill();
  let slowest = 0;
  for (const by of spendDimensions) {
    const startedAt = performance.now();
    const history = openHistory({ file, keepDays: 400 });
    const rows = history.spend({ sinceMs: nowMs - days30Ms, untilMs: nowMs, by, timeZone: "Europe/Berlin" });
    const tookMs = performance.now() - startedAt;
    history.close();
    slowest = Math.max(slowest, tookMs);
    const counted = rows.reduce((sum, row) => sum + row.turns, 0);
    console.log(`usage --since 30d --by ${by}: ${tookMs.toFixed(1)} ms (${rows.length} rows, ${counted} turns)`);
  }
  const scanMs = scan();
  console.log(`the same from the turns themselves: ${scanMs.toFixed(1)} ms (x${(scanMs / slowest).toFixed(1)})`);
  if (slowest > mayTakeMs) {
    console.error(`a report took ${slowest.toFixed(0)} ms; it may take ${mayTakeMs} ms`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function fill(): void {
  const startedAt = performance.now();
  const history = openHistory({ file, keepDays: 400 });
  for (let index = 0; index < turns; index++) {
    history.addTurn(
      turnFake({
        turnId: `turn_${index.toString().padStart(26, "0")}`,
        endedAtMs: nowMs - 1 - Math.floor((index * days30Ms) / turns),
        model: `model-${index % 7}`,
        client: `client-${index % 4}`,
        project: `/home/ada/project-${index % 25}`,
        tokenSource: index % 3 === 0 ? "estimated" : "measured",
      }),
    );
  }
  history.close();
  console.log(`${turns} turns added in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

function scan(): number {
  const db = new DatabaseSync(file);
  const startedAt = performance.now();
  db.prepare(
    `SELECT model, count(*), sum(prompt_tokens), sum(completion_tokens), sum(credits_hundredths) FROM usage_turns
     WHERE ended_at_ms >= ? GROUP BY model`,
  ).all(nowMs - days30Ms);
  const tookMs = performance.now() - startedAt;
  db.close();
  return tookMs;
}
