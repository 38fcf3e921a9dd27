import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { MillraceError } from "../../base/errors.ts";
import { until } from "../../base/wait.fake.ts";
import type { UsageLifecycle } from "../lifecycle.ts";
import { snapshotOf } from "../snapshot.fake.ts";
import { type FallbackHistory, openFallbackHistory } from "./fallback-history.ts";
import { turnFake } from "./history.fake.ts";
import { openHistory } from "./sqlite-history.ts";

let folder: string;
let file: string;
let clock: FakeClock;
let told: (MillraceError | undefined)[];
let history: FallbackHistory | undefined;
let healing: Promise<void> | undefined;
let stop: AbortController;

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, "turns.db");
  clock = new FakeClock();
  told = [];
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await healing;
  history?.close();
});

function open(setAside?: () => void): FallbackHistory {
  const events = new Emitter<UsageLifecycle>();
  events.on("history_failed", ({ error }) => told.push(error));
  events.on("history_recovered", () => told.push(undefined));
  history = openFallbackHistory({
    open: () => openHistory({ file, openTimeoutMs: 10, ...(setAside === undefined ? {} : { setAside }) }),
    clock,
    events,
  });
  healing = history.heal(stop.signal);
  return history;
}

async function tryAgain(): Promise<void> {
  await clock.advance(5_000);
  await until(() => clock.sleeping > 0 || history?.degradedBy === undefined);
}

const now = 1_750_000_000_000;
const turn = (n: number) => turnFake({ turnId: `turn_${n}`, endedAtMs: now + n });
const all = { sinceMs: now - 1000, untilMs: now + 1000, by: "model", timeZone: "UTC" } as const;

/** Adds to a history whose file cannot be used: two turns (one of them twice) and a reading. */
function addSome(to: FallbackHistory): void {
  expect([to.addTurn(turn(1)), to.addTurn(turn(2)), to.addTurn(turn(2))]).toEqual([true, true, false]);
  to.addSnapshot(snapshotOf({ readAtMs: now, usedFraction: 0.1, resetsAtMs: undefined }));
}

function expectSome(of: FallbackHistory): void {
  expect(of.spend(all)).toMatchObject([{ turns: 2 }]);
  for (const turnId of ["turn_1", "turn_2"]) expect(of.turn(turnId)).toMatchObject({ turnId });
  expect(of.snapshots({ sinceMs: 0, untilMs: now * 2 })).toHaveLength(1);
}

it("stores the newest 50,000 of the entries that wait for their file", async () => {
  writeFileSync(file, "x".repeat(4_096));
  const opened = open();
  for (const n of [1, 2]) opened.addTurn(turn(n));
  for (let n = 3; n < 50_001; n++) opened.addTurns([]);
  opened.addTurn(turn(3));
  rmSync(file);
  while (opened.degradedBy !== undefined) await tryAgain();
  const newest = { order: "time", descending: true, offset: 0, limit: 9, sums: false } as const;
  const found = opened.turnPage({ sinceMs: 0, untilMs: now * 2, ...newest });
  expect(found.map(({ turnId }) => turnId)).toEqual(["turn_3", "turn_2"]);
});

describe("a history whose file cannot be used at the start", () => {
  it("keeps what is added while the file is locked, shows no partial result, and recovers by itself", async () => {
    openHistory({ file }).close();
    const other = new DatabaseSync(file);
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const opened = open();
    expect(opened.degradedBy?.message).toContain("is locked by another program");
    addSome(opened);
    await tryAgain();
    const why = expect.objectContaining({ code: "degraded", message: expect.stringContaining("locked") });
    expect(() => opened.spend(all)).toThrow(why);
    expect(opened.turn("turn_1")).toMatchObject({ turnId: "turn_1" });
    expect(opened.latestSnapshots(0)).toHaveLength(1);
    expect(told).toHaveLength(1);
    other.close();
    await tryAgain();
    expect(opened.degradedBy).toBeUndefined();
    expect(told).toEqual([why, undefined]);
    expectSome(opened);
    opened.addTurn(turn(3));
    expect(opened.spend(all)).toMatchObject([{ turns: 3 }]);
  });

  it("moves a damaged file aside where it may, never deletes it, and begins a new one", () => {
    writeFileSync(file, "this was a database once, but no more: ".repeat(500));
    const damaged = readFileSync(file);
    const opened = open(() => renameSync(file, `${file}.damaged`));
    expect(opened.degradedBy).toBeUndefined();
    addSome(opened);
    expectSome(opened);
    expect(readFileSync(`${file}.damaged`)).toEqual(damaged);
  });

  it("does not change a damaged file of another program, and continues once the user has moved it", async () => {
    writeFileSync(file, "this was a database once, but no more: ".repeat(500));
    const damaged = readFileSync(file);
    const opened = open();
    expect(opened.degradedBy?.message).toMatch(/is not a database|is damaged/);
    addSome(opened);
    await tryAgain();
    expect(readFileSync(file)).toEqual(damaged);
    renameSync(file, `${file}.away`);
    await tryAgain();
    expectSome(opened);
  });

  it("says which version wrote it, leaves every byte of it, and continues once another file is there", async () => {
    const newer = openHistory({ file });
    newer.addTurn(turn(9));
    newer.close();
    const database = new DatabaseSync(file);
    database.exec("INSERT INTO usage_schema (version) VALUES (99)");
    database.close();
    const before = readFileSync(file);
    const opened = open();
    expect(opened.degradedBy).toMatchObject({
      message: expect.stringContaining("another version of Millrace (its version 99"),
      hint: expect.stringContaining("Nothing was changed"),
    });
    addSome(opened);
    await tryAgain();
    await tryAgain();
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["turns.db"]);
    expect(told).toHaveLength(1);
    renameSync(file, `${file}.newer`);
    await tryAgain();
    expectSome(opened);
  });

  it("keeps what comes when the file fails later, too", async () => {
    const opened = open();
    opened.addTurn(turn(1));
    const other = new DatabaseSync(file);
    other.exec("ALTER TABLE usage_turns RENAME TO usage_turns_away");
    opened.addTurn(turn(2));
    expect(told).toHaveLength(1);
    opened.addTurn(turn(3));
    other.exec("ALTER TABLE usage_turns_away RENAME TO usage_turns");
    other.close();
    await tryAgain();
    expect(opened.degradedBy).toBeUndefined();
    expect(opened.spend(all)).toMatchObject([{ turns: 3 }]);
  });
});
