import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { describeLogStore } from "../store.conformance.ts";
import { newTurn, SettableClock } from "../turn.fake.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";

describeLogStore("sqlite", { survivesRestart: true, sharedBetweenProcesses: true }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  return {
    open: async (clock) => (await openSqliteLog({ path: join(folder, "log.db"), clock })).store,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

test("a sweep of many events lets the writes of running turns come in between, and leaves nothing behind", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "log.db");
  const clock = new SettableClock();
  const { store } = await openSqliteLog({ path, clock });
  const deltas = Array.from({ length: 1_000 }, () => ({ type: "text", delta: "x" }) as const);
  const end = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" } as const;
  for (let turn = 0; turn < 40; turn++) {
    const { writer } = await store.create(newTurn(), "o");
    await writer?.append([...deltas, end], clock.now());
  }
  const running = await store.create(newTurn(), "o");
  clock.move(3 * 3_600_000);
  let swept = false;
  const sweep = store.sweep(clock.now()).then(() => (swept = true));
  for (let i = 0; i < 50; i++) await running.writer?.append([{ type: "text", delta: "y" }], clock.now());
  expect(swept).toBe(false); // 40 turns are 80 slices at least
  await sweep;
  expect(await store.list({ limit: 100 })).toHaveLength(1);
  const database = new DatabaseSync(path, { readOnly: true });
  expect(database.prepare("SELECT count(*) AS n FROM events").get()).toEqual({ n: 50 });
  expect(database.prepare("SELECT count(*) AS n FROM headers").get()).toEqual({ n: 1 });
  database.close();
  await store.close();
});
