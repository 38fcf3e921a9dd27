import { fork } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { openBelow } from "../../../test/support/open-files.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { until } from "../../base/wait.fake.ts";
import { commonHost } from "../host/common-host.ts";
import { readStateOnce } from "./state-db.ts";

const signal = new AbortController().signal;

describe("reading state.vscdb", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = temporaryFolder();
    file = join(folder, "state.vscdb");
  });

  function create(mode: "wal" | "delete", value: string | Uint8Array = "one"): DatabaseSync {
    const database = new DatabaseSync(file);
    database.exec(
      `PRAGMA journal_mode=${mode}; CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)`,
    );
    database.prepare("INSERT INTO ItemTable VALUES('a', ?)").run(value);
    return database;
  }

  const read = () => readStateOnce(file, ["a", "b"]);
  const one = { kind: "read", values: new Map([["a", "one"]]) };

  it("reads a database of either kind while the IDE has it open", async () => {
    const database = create("wal");
    expect(await read()).toEqual(one);
    database.exec("UPDATE ItemTable SET value = 'newest'"); // stands in the -wal file only
    expect(await read()).toEqual({ kind: "read", values: new Map([["a", "newest"]]) });
    database.close();
    await rm(file);
    create("delete", Buffer.from("one"));
    expect(await read()).toEqual(one);
  });

  it.each(["wal", "delete"] as const)(
    "leaves nothing beside a closed %s database, and does not touch it",
    async (mode) => {
      create(mode).close();
      const before = [await readFile(file), (await stat(file)).mtimeMs];
      expect(await read()).toEqual(one);
      expect(await readdir(folder)).toEqual(["state.vscdb"]);
      await until(() => openBelow(folder).length === 0);
      expect([await readFile(file), (await stat(file)).mtimeMs]).toEqual(before);
    },
  );

  it("reads what a crashed IDE left in its -wal file", async () => {
    const database = create("wal");
    await mkdir(join(folder, "crashed"));
    for (const end of ["", "-wal", "-shm"])
      await copyFile(`${file}${end}`, join(folder, "crashed", `state.vscdb${end}`));
    database.close();
    expect(await readStateOnce(join(folder, "crashed", "state.vscdb"), ["a"])).toEqual(one);
  });

  it("reads a path with characters that mean something in a URI", async () => {
    const odd = join(folder, "Windsurf - Next? 100%#1");
    await mkdir(odd);
    create("wal").close();
    await copyFile(file, join(odd, "state.vscdb"));
    expect(await readStateOnce(join(odd, "state.vscdb"), ["a"])).toEqual(one);
    expect(await readdir(odd)).toEqual(["state.vscdb"]);
  });

  it("says busy while a writer holds the lock, and the host waits until it is gone", async () => {
    const database = create("delete");
    database.exec("BEGIN EXCLUSIVE");
    expect(await read()).toEqual({ kind: "busy" });
    let pauses = 0;
    const clock = { ...systemClock, sleep: async () => void (++pauses === 2 && database.exec("COMMIT")) };
    expect(await commonHost({ home: folder, clock }).readState(file, ["a"], signal)).toEqual(one);
    database.exec("BEGIN EXCLUSIVE");
    const stuck = await commonHost({ home: folder, clock: { ...clock, sleep: async () => {} } }).readState(
      file,
      ["a"],
      signal,
    );
    expect(stuck).toMatchObject({ kind: "unreadable" });
    database.close();
  });

  it("never fails or reads stale beside a process that writes all the time", async () => {
    create("wal", "0").close();
    const writer = fork(fileURLToPath(new URL("../fixtures/state-writer.mjs", import.meta.url)), [file]);
    try {
      await new Promise((resolve) => writer.once("message", resolve));
      let last = 0;
      for (let i = 0; i < 200; i++) {
        const result = await read();
        if (result.kind === "busy") continue;
        if (result.kind !== "read") throw new Error(JSON.stringify(result));
        const value = Number(result.values.get("a"));
        expect(value).toBeGreaterThanOrEqual(last);
        last = value;
      }
      expect(last).toBeGreaterThan(0);
    } finally {
      writer.kill("SIGKILL");
    }
  });

  it("reports a missing file, no database, or damage", async () => {
    expect(await read()).toEqual({ kind: "missing" });
    expect(await readStateOnce(folder, ["a"])).toMatchObject({ kind: "unreadable" });
    await writeFile(file, "not a database, but longer than a header");
    expect(await read()).toMatchObject({ kind: "unreadable", why: "is not a SQLite database" });
    await rm(file);
    const database = new DatabaseSync(file);
    database.exec("CREATE TABLE Other(x)");
    database.close();
    expect(await read()).toMatchObject({ kind: "unreadable" });
  });

  it("never crashes on a database with random bytes in it", async () => {
    create("delete", "x".repeat(9000)).close();
    const good = await readFile(file);
    const damage = fc.record({ at: fc.nat(good.length - 1), bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }) });
    await fc.assert(
      fc.asyncProperty(damage, async ({ at, bytes }) => {
        const bad = Buffer.from(good);
        bad.set(bytes.subarray(0, good.length - at), at);
        await writeFile(file, bad);
        expect(["read", "unreadable", "busy"]).toContain((await read()).kind);
      }),
      { numRuns: 40 },
    );
  });
});
