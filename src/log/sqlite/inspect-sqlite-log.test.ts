import { mkdtempSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newTurn, SettableClock } from "../turn.fake.ts";
import { inspectSqliteLog } from "./inspect-sqlite-log.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";

describe("looking at a log's file", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-inspect-"));
    path = join(folder, "turns.db");
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  it("counts turns while a gateway has it open", async () => {
    const { store } = await openSqliteLog({ path, clock: new SettableClock() });
    await store.create(newTurn(), "owner");
    expect(await inspectSqliteLog(path)).toMatchObject({ kind: "sound", turns: 1, openTurns: 1 });
    await store.close();
  });

  it("makes nothing where nothing is", async () => {
    expect(await inspectSqliteLog(path)).toEqual({ kind: "missing" });
    expect(await readdir(folder)).toEqual([]);
  });

  it("reports a damaged file and leaves it unchanged", async () => {
    const { store } = await openSqliteLog({ path, clock: new SettableClock() });
    await store.create(newTurn(), "owner");
    await store.close();
    const bytes = await readFile(path);
    bytes.fill(0xa5, 4096, 4096 * 3);
    await writeFile(path, bytes);
    expect(await inspectSqliteLog(path)).toMatchObject({ kind: "damaged" });
    expect(await readFile(path)).toEqual(bytes);
    await writeFile(path, "something else entirely, but long enough to be looked at");
    expect(await inspectSqliteLog(path)).toMatchObject({ kind: "damaged" });
  });

  it("recognises another program's database", async () => {
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE notes(x)");
    other.close();
    expect(await inspectSqliteLog(path)).toMatchObject({ kind: "foreign" });
  });
});
