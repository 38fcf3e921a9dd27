import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, it } from "vitest";
import { CommitPace } from "./commit-pace.ts";
import { GroupCommit } from "./group-commit.ts";
import { LockPatience } from "./lock-patience.ts";

let database: DatabaseSync;
let commits: GroupCommit;
let statements: string[];
let monotonicMs: number;
beforeEach(() => {
  statements = [];
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE words (word TEXT PRIMARY KEY)");
  const statement = (sql: string) => {
    statements.push(sql);
    return database.prepare(sql);
  };
  monotonicMs = 0;
  const pace = new CommitPace(() => monotonicMs);
  commits = new GroupCommit({ database, statement, patience: new LockPatience(database), pace });
});

const add = (word: string) => () => {
  database.prepare("INSERT INTO words VALUES (?)").run(word);
  return word;
};
const words = () =>
  database
    .prepare("SELECT word FROM words ORDER BY rowid")
    .all()
    .map((row) => row["word"]);
const outcome = (write: Promise<unknown>) => write.catch((error: unknown) => String(error));

it("writes what comes together in one transaction, in order, and answers each", async () => {
  expect(await Promise.all([commits.write(true, add("a")), commits.write(false, add("b"))])).toEqual(["a", "b"]);
  expect(words()).toEqual(["a", "b"]);
  expect(statements.filter((sql) => sql === "COMMIT")).toHaveLength(1);
});

it("takes back a write that fails, all of it and nothing else", async () => {
  const half = () => {
    add("half")();
    throw new Error("no more");
  };
  const results = await Promise.all([add("a"), half, add("b")].map((work) => outcome(commits.write(true, work))));
  expect(results).toEqual(["a", "Error: no more", "b"]);
  expect(words()).toEqual(["a", "b"]);
});

it("fails all of them when the transaction is lost, for the reason that lost it", async () => {
  const full = () => {
    database.exec("ROLLBACK"); // what SQLite does by itself on a full disk
    throw new Error("disk full");
  };
  const results = await Promise.all([add("a"), full, add("b")].map((work) => outcome(commits.write(true, work))));
  expect(results).toEqual(Array(3).fill("Error: disk full"));
  expect(words()).toEqual([]);
  expect(await commits.write(true, add("later"))).toBe("later");
});

it("fails all of them when the commit fails", async () => {
  database.exec(
    "PRAGMA foreign_keys = ON; CREATE TABLE notes (word TEXT REFERENCES words DEFERRABLE INITIALLY DEFERRED)",
  );
  const orphan = () => database.exec("INSERT INTO notes VALUES ('nobody')");
  const results = await Promise.all([add("a"), orphan].map((work) => outcome(commits.write(true, work))));
  expect(results.every((result) => String(result).includes("FOREIGN KEY"))).toBe(true);
  expect(words()).toEqual([]);
});

it("writes what waits when it is drained", async () => {
  const written = commits.write(true, add("a"));
  commits.drain();
  expect(words()).toEqual(["a"]);
  expect(await written).toBe("a");
});
