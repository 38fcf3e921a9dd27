import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, it } from "vitest";
import { CommitPace, WriteQueue } from "./write-queue.ts";

let database: DatabaseSync;
let queue: WriteQueue;
let transactions: number;
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE words (word TEXT PRIMARY KEY)");
  transactions = 0;
  queue = new WriteQueue(
    database,
    () => void transactions++,
    () => 0,
  );
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
  expect(await Promise.all([queue.write(true, add("a")), queue.write(false, add("b"))])).toEqual(["a", "b"]);
  expect(words()).toEqual(["a", "b"]);
  expect(transactions).toBe(1);
});

it("takes back a write that fails, all of it and nothing else", async () => {
  const half = () => {
    add("half")();
    throw new Error("no more");
  };
  const results = await Promise.all([add("a"), half, add("b")].map((work) => outcome(queue.write(true, work))));
  expect(results).toEqual(["a", "Error: no more", "b"]);
  expect(words()).toEqual(["a", "b"]);
});

it("fails all of them when the medium fails, for the same reason", async () => {
  const full = () => {
    database.exec("ROLLBACK"); // what SQLite does by itself on a full disk
    throw Object.assign(new Error("disk full"), { errcode: 13 });
  };
  const results = await Promise.all([add("a"), full, add("b")].map((work) => outcome(queue.write(true, work))));
  expect(results).toEqual(Array(3).fill("MillraceError: The log's file has no room left."));
  expect(words()).toEqual([]);
  expect(await queue.write(true, add("later"))).toBe("later");
});

it("fails the one whose commit fails, and nothing of it is left", async () => {
  database.exec(
    "PRAGMA foreign_keys = ON; CREATE TABLE notes (word TEXT REFERENCES words DEFERRABLE INITIALLY DEFERRED)",
  );
  const orphan = () => database.exec("INSERT INTO notes VALUES ('nobody')");
  const results = await Promise.all([add("a"), orphan].map((work) => outcome(queue.write(true, work))));
  expect(results).toEqual(["a", expect.stringContaining("FOREIGN KEY")]);
  expect(words()).toEqual(["a"]);
  expect(database.prepare("SELECT count(*) AS n FROM notes").get()).toEqual({ n: 0 });
});

it("is on the disk at the commit where one write of a group asks for that, and only there", async () => {
  const level = () => Number(database.prepare("PRAGMA synchronous").get()?.["synchronous"]);
  const [normal, full] = [1, 2];
  for (let again = 0; again < 2; again++) {
    expect(await Promise.all([queue.write(false, level), queue.write(true, level)])).toEqual([full, full]);
    expect(await queue.write(false, level)).toBe(normal);
  }
});

it("writes what waits when it is drained", async () => {
  const written = queue.write(true, add("a"));
  queue.drain();
  expect(words()).toEqual(["a"]);
  expect(await written).toBe("a");
});

it("answers a large group in its order", async () => {
  const told: string[] = [];
  const names = Array.from({ length: 50 }, (_, i) => `word ${i}`);
  await Promise.all(names.map(async (name) => told.push(await queue.write(false, add(name)))));
  expect(told).toEqual(names);
  expect(transactions).toBe(1);
});

/** So many writers, one write each, with a transaction before them. Answers the last wait, ms. */
function waitOf(writers: number, at: { nowMs: number }): number {
  const pace = new CommitPace(() => at.nowMs);
  for (let i = 0; i < writers; i++) pace.wrote(`turn ${i}`, 1);
  pace.committed();
  return pace.wrote("turn 0", 1);
}

it("lets a few turns write at once, and many wait for each other, 8 ms at most", () => {
  expect([1, 4, 8, 32, 200].map((writers) => waitOf(writers, { nowMs: 5 }))).toEqual([0, 0, 2, 8, 8]);
});

it("lets one turn that appends without a pause do so", () => {
  const pace = new CommitPace(() => 5);
  for (let i = 0; i < 1_000; i++) {
    expect(pace.wrote("the turn", 1)).toBe(0);
    pace.committed();
  }
});

it("does not wait once all writers are in the group, or if the last transaction was long ago", () => {
  const at = { nowMs: 5 };
  const pace = new CommitPace(() => at.nowMs);
  for (let i = 0; i < 40; i++) pace.wrote(`turn ${i}`, 1);
  pace.committed();
  expect(pace.wrote("turn 1", 39)).toBe(8);
  expect(pace.wrote("turn 2", 40)).toBe(0);
  at.nowMs += 6;
  expect(pace.wrote("turn 3", 1)).toBe(2);
  at.nowMs += 3;
  expect(pace.wrote("turn 3", 1)).toBe(0);
});

it("forgets who wrote a while ago", () => {
  const at = { nowMs: 5 };
  const pace = new CommitPace(() => at.nowMs);
  for (let i = 0; i < 40; i++) pace.wrote(`turn ${i}`, 1);
  pace.committed();
  at.nowMs += 150;
  pace.committed();
  expect(pace.wrote("turn 1", 1)).toBe(8); // they wrote in the 100 ms before these
  at.nowMs += 250;
  pace.committed();
  expect(pace.wrote("turn 1", 1)).toBe(0);
});
