import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import { insert } from "../rows.conformance.ts";
import { openSqliteRows } from "../sqlite.ts";
import { inspectLogFile, openFile } from "./open-file.ts";

describe("looking at a log's file", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-inspect-"));
    path = join(folder, "turns.db");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const program = (sql: string) => {
    const other = new DatabaseSync(path);
    other.exec(sql);
    other.close();
  };

  it("counts turns while a gateway has it open", async () => {
    const rows = await openSqliteRows({ path });
    await rows.commit([insert("a"), insert("b", { open: false }), insert("s", { kind: "stream" })], false);
    expect(await inspectLogFile(path)).toMatchObject({ kind: "sound", turns: 2, openTurns: 1 });
    await rows.close();
  });

  it("makes nothing where nothing is", async () => {
    expect(await inspectLogFile(path)).toEqual({ kind: "missing" });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reports a damaged file and leaves it unchanged", async () => {
    const rows = await openSqliteRows({ path });
    await rows.commit([insert("a")], false);
    await rows.close();
    const damaged = readFileSync(path).fill(0xa5, 4096, 4096 * 3);
    writeFileSync(path, damaged);
    expect(await inspectLogFile(path)).toMatchObject({ kind: "damaged" });
    expect(readFileSync(path)).toEqual(damaged);
    writeFileSync(path, "something else entirely, but long enough to be looked at");
    expect(await inspectLogFile(path)).toMatchObject({ kind: "damaged" });
  });

  it("recognises another program's database, and one of another version", async () => {
    program("CREATE TABLE notes(x)");
    expect(await inspectLogFile(path)).toMatchObject({
      kind: "foreign",
      why: "The log's file belongs to another program.",
    });
    rmSync(path);
    await (await openSqliteRows({ path })).close();
    program("PRAGMA user_version = 2");
    expect(await inspectLogFile(path)).toMatchObject({
      kind: "foreign",
      why: expect.stringContaining("another version"),
    });
  });
});

it("makes its file for the user alone, and what is deleted there is overwritten", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-made-"));
  const path = join(folder, "home", "turns.db");
  const database = openFile(loadSqlite(), { path });
  expect([modeOf(path, 0o600), modeOf(join(folder, "home"), 0o700)]).toEqual([0o600, 0o700]);
  expect(database.prepare("PRAGMA secure_delete").get()).toEqual({ secure_delete: 1 });
  database.close();
  rmSync(folder, { recursive: true });
});
