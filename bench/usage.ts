import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { writeLimitsFile } from "../src/cli/limits/limits-file.ts";
import { encodeLimits } from "../src/usage/envelope.ts";
import { turnFake } from "../src/usage/history/history.fake.ts";
import { spendDimensions } from "../src/usage/history/history.ts";
import { openHistory } from "../src/usage/history/sqlite-history.ts";
import type { LimitsReading } from "../src/usage/meter.ts";
import { snapshotOf } from "../src/usage/snapshot.fake.ts";

/**
 * Reports over a history of 200,000 turns in 30 days: opening the file and asking for each dimension, then the command as
 * a user types it, and the status line, each a process of its own (the built ones, where they are built). The ratio is
 * against the same sums made from the turns themselves, in the same run. Exits 1 when one takes longer than it may.
 */
const turns = 200_000;
const mayTakeMs = 300;
const days30Ms = 30 * 86_400_000;
const lineMayTakeMs = 50;
const nowMs = Date.now();

const home = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const folder = join(home, ".millrace");
mkdirSync(folder);
const file = join(folder, "turns.db");
const built = fileURLToPath(new URL("../dist/node/bin.js", import.meta.url));
const bin = existsSync(built) ? built : fileURLToPath(new URL("../src/cli/bin.ts", import.meta.url));
try {
  fill();
  let slowest = 0;
  for (const by of spendDimensions) {
    const { tookMs, rows } = [report(by), report(by), report(by)].reduce((a, b) => (b.tookMs < a.tookMs ? b : a));
    slowest = Math.max(slowest, tookMs);
    const counted = rows.reduce((sum, row) => sum + row.turns, 0);
    console.log(`usage --since 30d --by ${by}: ${tookMs.toFixed(1)} ms (${rows.length} rows, ${counted} turns)`);
  }
  const scanMs = scan();
  console.log(`the same from the turns themselves: ${scanMs.toFixed(1)} ms (x${(scanMs / slowest).toFixed(1)})`);
  check("a report", slowest, mayTakeMs);
  writeLimitsFile(folder, encodeLimits({ nowMs, readings: [reading()], errors: [] }));
  console.log(bin === built ? "processes, as built:" : "processes, from the sources (built ones start sooner):");
  const bare = timed([], ["-e", "0"]);
  check("usage --since 30d --by model", timed(["usage", "--since", "30d", "--by", "model"]), mayTakeMs);
  check("statusline", timed(["statusline"]), lineMayTakeMs);
  console.log(`of these, Node itself: ${bare.toFixed(0)} ms`);
} finally {
  rmSync(home, { recursive: true });
}

function check(what: string, tookMs: number, limitMs: number): void {
  console.log(`${what}: ${tookMs.toFixed(0)} ms (may take ${limitMs} ms)`);
  if (tookMs <= limitMs) return;
  console.error(`${what} took longer than it may`);
  process.exitCode = 1;
}

/** The fastest of eleven runs of the command, ms: what else the machine does only ever makes it slower. */
function timed(args: readonly string[], node: readonly string[] = [bin]): number {
  const env = { HOME: home, PATH: process.env["PATH"] ?? "" };
  const took = Array.from({ length: 11 }, () => {
    const startedAt = performance.now();
    const { status, stderr } = spawnSync(process.execPath, [...node, ...args], { env, encoding: "utf8" });
    if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
    return performance.now() - startedAt;
  });
  return Math.min(...took);
}

function reading(): LimitsReading {
  const snapshot = snapshotOf({ readAtMs: nowMs, usedFraction: 0.4, resetsAtMs: nowMs + days30Ms });
  return { snapshot, paces: [], expiresAtMs: nowMs + 300_000, stale: false };
}

function report(by: (typeof spendDimensions)[number]) {
  const startedAt = performance.now();
  const history = openHistory({ file, keepDays: 400 });
  const rows = history.spend({ sinceMs: nowMs - days30Ms, untilMs: nowMs, by, timeZone: "Europe/Berlin" });
  const tookMs = performance.now() - startedAt;
  history.close();
  return { tookMs, rows };
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
