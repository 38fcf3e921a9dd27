import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import { openFile } from "./open-file.ts";
import { translateSqliteError } from "./sqlite-errors.ts";
import { WriteQueue } from "./write-queue.ts";

const thrown = (errcode: number) => Object.assign(new Error("from SQLite"), { errcode });

it.each([
  [11, "is damaged", "Restart the gateway"],
  [26, "is not a database", "Restart the gateway"],
  [13, "has no room left", "Free disk space"],
])("says of SQLite's code %i what is wrong and what to do", (code, words, hint) => {
  expect(translateSqliteError(thrown(code), "The file")).toMatchObject({
    code: "degraded",
    message: expect.stringContaining(`The file ${words}`) as string,
    hint: expect.stringContaining(hint) as string,
  });
});

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
  const database = openFile(loadSqlite(), { path });
  onTestFinished(() => database.close());
  const queue = new WriteQueue(database);
  const write = () => queue.write(true, () => undefined);
  const release = lock(path);
  expect(waits(database)).toBe(2_000);
  database.exec("PRAGMA busy_timeout = 10"); // the first wait is the long one
  await expect(write()).rejects.toThrow(/locked/);
  expect(waits(database)).toBe(50);
  queue.read(() => database.prepare("SELECT count(*) FROM logs").get());
  await expect(write()).rejects.toThrow(/locked/);
  expect(waits(database)).toBe(50);
  release();
  await write();
  expect(waits(database)).toBe(2_000);
});
