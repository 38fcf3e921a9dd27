import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, it } from "vitest";
import { WriteQueue } from "./write-queue.ts";

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
