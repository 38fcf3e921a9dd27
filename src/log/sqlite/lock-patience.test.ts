import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { CommitPace } from "./commit-pace.ts";
import { GroupCommit } from "./group-commit.ts";
import { HeldFile } from "./held-file.ts";
import { Ledger } from "./ledger.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { LockPatience } from "./lock-patience.ts";
import { openDatabase } from "./open-database.ts";
import { SqliteMedium } from "./sqlite-medium.ts";

const usualMs = 80;

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return join(folder, "turns.db");
}

/** Another program that holds the file's lock until it lets go. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  let held = true;
  const release = () => {
    if (held) other.close();
    held = false;
  };
  onTestFinished(release);
  return release;
}

const waits = (database: DatabaseSync) => database.prepare("PRAGMA busy_timeout").get()?.["timeout"];

it("waits for a lock, then hardly, until a write succeeds: a read beside the lock is no sign of that", async () => {
  const path = file();
  const { database } = openDatabase(await loadSqlite(), { path, nowMs: 0 });
  onTestFinished(() => database.close());
  database.exec(`PRAGMA busy_timeout = ${usualMs}`);
  const commits = new GroupCommit({
    database,
    statement: (sql) => database.prepare(sql),
    patience: new LockPatience(database, usualMs),
    pace: new CommitPace(() => 0),
  });
  const write = () => commits.write(true, () => undefined);
  const release = lock(path);
  expect(waits(database)).toBe(usualMs);
  await expect(write()).rejects.toThrow(/locked/);
  expect(waits(database)).toBe(50);
  database.prepare("SELECT count(*) FROM turns").get();
  await expect(write()).rejects.toThrow(/locked/);
  expect(waits(database)).toBe(50);
  release();
  await write();
  expect(waits(database)).toBe(usualMs);
});

it("holds for the log: a file that stays locked costs its gateway no more time", async () => {
  const path = file();
  const { database, reopen } = openDatabase(await loadSqlite(), { path, nowMs: 0 });
  const medium = new SqliteMedium({
    file: new HeldFile({ path, database, reopen }),
    ledger: new Ledger(path, new FakeClock()),
    clock: new FakeClock(),
  });
  onTestFinished(() => medium.close());
  const release = lock(path);
  database.exec("PRAGMA busy_timeout = 10"); // the first wait is the long one
  await expect(medium.renewOwner("me", 1)).rejects.toMatchObject({ code: "degraded" });
  expect(waits(database)).toBe(50);
  release();
  await medium.renewOwner("me", 1);
  expect(waits(database)).toBe(2_000);
});
