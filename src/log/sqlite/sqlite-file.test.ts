import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { loadSqlite } from "../../base/node/load-sqlite.ts";
import { bytes, insert, rowFake } from "../rows.conformance.ts";
import type { Op, Rows } from "../rows.ts";
import { openSqliteRows } from "../sqlite.ts";
import type { SqliteFileOptions } from "./open-file.ts";

let folder: string;
let path: string;
let copies: string[];
let opened: Rows[];
/** Every how many-th byte of the file is changed in turn; 1 is all of them, and takes some minutes. */
const stride = Number(process.env["MILLRACE_FLIP_STRIDE"] ?? 409);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-rows-"));
  path = join(folder, "below", "log.db");
  copies = [];
  opened = [];
});
afterEach(async () => {
  for (const rows of opened) await rows.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: Partial<SqliteFileOptions> = {}): Promise<Rows> {
  const rows = await openSqliteRows({ path, onSetAside: (copy) => copies.push(copy), ...options });
  opened.push(rows);
  return rows;
}

const append = (id: string, text: string): Op => ({ type: "update", id, entries: [bytes(text)] });

/** The bytes of a log with one row and two entries, that was closed. */
async function closedLog(): Promise<Buffer> {
  const rows = await openSqliteRows({ path });
  await rows.commit([insert("t"), append("t", "a"), append("t", "b")], true);
  await rows.close();
  return readFileSync(path);
}

function foreign(sql: string): Buffer {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  return readFileSync(path);
}

describe("the log's file", () => {
  test("and its companions are readable by their owner only, in a folder of the same kind", async () => {
    const rows = await open();
    await rows.commit([insert("t")], false);
    const files = readdirSync(dirname(path));
    expect(files.sort()).toEqual(["log.db", "log.db-shm", "log.db-wal"]);
    for (const file of files) expect(modeOf(join(dirname(path), file), 0o600)).toBe(0o600);
    expect(modeOf(dirname(path), 0o700)).toBe(0o700);
  });

  test("gives the disk back what is free when the log is closed, where that is more than half of it", async () => {
    const rows = await open();
    for (let n = 0; n < 20; n++) await rows.commit([insert(`t${n}`), append(`t${n}`, "x".repeat(2 ** 20))], false);
    for (let n = 1; n < 20; n++) await rows.commit([{ type: "remove", id: `t${n}` }], true);
    await rows.sweep(0, []); // the entries of removed rows
    await rows.close();
    opened = [];
    expect(statSync(path).size).toBeLessThan(3 * 2 ** 20);
    expect(await (await open()).get("t0")).toMatchObject({ id: "t0", last: 1 });
  });

  test("that is damaged is set aside whole, and a new log begins; so is the next one", async () => {
    for (const number of [1, 2]) {
      const damaged = (await closedLog()).fill(0xff, 1024);
      writeFileSync(path, damaged);
      const rows = await open();
      expect(copies).toHaveLength(number);
      expect(copies.at(-1)).toBe(`${path}.damaged-${number}`);
      expect(readFileSync(`${path}.damaged-${number}`)).toEqual(damaged);
      expect(await rows.find({ kind: "turn", limit: 1 })).toEqual([]);
      await rows.close();
      opened = [];
    }
  });

  describe("with lost pages far from its beginning", () => {
    const lose = (log: Buffer) => log.fill(0xa5, Math.floor(log.length / 2));
    const all = { count: 100, bytes: 2 ** 30 };
    beforeEach(async () => {
      const rows = await open();
      await rows.commit([insert("t"), ...Array.from({ length: 40 }, () => append("t", "x".repeat(2 ** 16)))], true);
      await rows.close();
      opened = [];
    });

    test("is opened without a look at each page where it was closed in order, and set aside once SQLite has met one", async () => {
      writeFileSync(path, lose(readFileSync(path)));
      const rows = await open();
      expect(await rows.get("t")).toMatchObject({ last: 40 });
      expect(copies).toEqual([]);
      await expect(rows.entries("t", 0, all)).rejects.toMatchObject({ code: "degraded" });
      await rows.close();
      opened = [];
      expect(await (await open()).get("t")).toBeUndefined();
      expect(copies).toEqual([`${path}.damaged-1`]);
    });

    test("is set aside at once where its gateway was killed", async () => {
      await open();
      const [log, wal] = [readFileSync(path), readFileSync(`${path}-wal`)];
      path = join(folder, "killed.db");
      writeFileSync(path, lose(log));
      writeFileSync(`${path}-wal`, wal);
      await open();
      expect(copies).toEqual([`${path}.damaged-1`]);
    });
  });

  test("with one flipped byte is set aside, or shows the row or another one, and never fails", async () => {
    const sound = await closedLog();
    for (let at = 0; at < sound.length; at += stride) {
      const flipped = Buffer.from(sound);
      flipped[at] = (flipped[at] ?? 0) ^ 0xff;
      for (const name of readdirSync(dirname(path))) rmSync(join(dirname(path), name));
      writeFileSync(path, flipped);
      const how = await openSqliteRows({ path, onSetAside: () => {} }).then(
        async (rows) => {
          const found = await rows.get("t").catch((error: { code?: string }) => error.code ?? error);
          await rows.close();
          return typeof found === "object" && !(found instanceof Error) ? "shown" : (found ?? "gone");
        },
        (error: { code?: string }) => error.code ?? error,
      );
      expect(["shown", "gone", "degraded"]).toContain(how);
    }
  });

  test("that is no database at all is set aside, whether anybody listens or not", async () => {
    await closedLog();
    writeFileSync(path, "this is a note that somebody kept here, longer than a header".repeat(99));
    opened.push(await openSqliteRows({ path }));
    expect(readFileSync(`${path}.damaged-1`, "utf8")).toContain("a note that somebody kept");
  });

  test("that was emptied beside its WAL is set aside with it", async () => {
    const rows = await open();
    await rows.commit([insert("t")], true);
    const wal = readFileSync(`${path}-wal`);
    await rows.close();
    opened = [];
    writeFileSync(path, "");
    writeFileSync(`${path}-wal`, wal);
    await open();
    expect(copies).toEqual([`${path}.damaged-1`]);
    expect(readFileSync(`${path}.damaged-1-wal`)).toEqual(wal);
  });

  test.each([
    ["a newer", "DROP TABLE logs; PRAGMA user_version = 2"],
    ["an early", "DROP TABLE logs; CREATE TABLE turns (turn_id TEXT); PRAGMA user_version = 1"],
  ])("of %s version is left unchanged", async (_, change) => {
    await closedLog();
    const before = foreign(change);
    await expect(open()).rejects.toMatchObject({
      code: "degraded",
      message: "The log was written by another version of Millrace.",
      hint: expect.stringContaining("a new log begins then"),
    });
    expect(readFileSync(path)).toEqual(before);
  });

  test("of another program is left unchanged", async () => {
    await closedLog();
    rmSync(path);
    const before = foreign("CREATE TABLE notes (text TEXT); PRAGMA user_version = 1");
    await expect(open()).rejects.toMatchObject({
      code: "degraded",
      message: "The log's file belongs to another program.",
      hint: expect.stringContaining("MILLRACE_HOME"),
    });
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(dirname(path))).toEqual(["log.db"]);
  });

  test("in a folder that cannot be made is degraded, and names the file", async () => {
    writeFileSync(join(folder, "below"), "a file");
    await expect(open()).rejects.toMatchObject({ code: "degraded", message: expect.stringContaining(path) });
  });

  test("that another program has locked is degraded until it lets go", async () => {
    await closedLog();
    const other = new DatabaseSync(path);
    other.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    await expect(open({ openTimeoutMs: 10 })).rejects.toMatchObject({
      code: "degraded",
      message: expect.stringContaining("locked"),
    });
    other.close();
    const rows = await open({ openTimeoutMs: 10 });
    expect(await rows.get("t")).toMatchObject({ last: 2 });
    expect(copies).toEqual([]);
  });
});

describe("a file that fails while it is open", () => {
  test.each<[string, () => void]>([
    ["deleted", () => rmSync(path)],
    ["replaced", () => (renameSync(path, `${path}.old`), writeFileSync(path, readFileSync(`${path}.old`)))],
    ["left without its WAL", () => rmSync(`${path}-wal`)],
  ])("because it was %s makes everything degraded, and nothing is put back", async (_, take) => {
    const rows = await open();
    await rows.commit([insert("t")], true);
    const woken = rows.changed("t", new AbortController().signal);
    take();
    const gone = { code: "degraded", message: `The log's file (${path}) was deleted or replaced.` };
    await expect(rows.commit([append("t", "a")], true)).rejects.toMatchObject(gone);
    await expect(rows.commit([append("t", "a")], false)).rejects.toMatchObject(gone);
    await expect(rows.get("t")).rejects.toMatchObject(gone);
    await expect(rows.find({ kind: "turn", limit: 1 })).rejects.toMatchObject(gone);
    await expect(rows.sweep(1, ["turn"])).rejects.toMatchObject(gone);
    await woken; // the caller looks again, and learns of it
  });

  test("because its folder was away makes everything degraded until it is back", async () => {
    const rows = await open();
    await rows.commit([insert("t"), append("t", "a")], true);
    const names = [path, `${path}-wal`, `${path}-shm`];
    for (const name of names) renameSync(name, `${name}.away`);
    await expect(rows.commit([append("t", "b")], true)).rejects.toMatchObject({ code: "degraded" });
    await expect(rows.get("t")).rejects.toMatchObject({ code: "degraded" });
    for (const name of names) renameSync(`${name}.away`, name);
    expect(await rows.commit([append("t", "b")], true)).toEqual({ type: "done" });
    expect(await rows.get("t")).toEqual(rowFake("t", { last: 2 }));
  });

  test("because it is full refuses writes, all or nothing, is read meanwhile, and takes writes once it has room", async () => {
    const rows = await open({ maxPages: 40 });
    await rows.commit([insert("t"), append("t", "a")], true);
    const large: Op = { type: "update", id: "t", set: { owner: "b" }, entries: [new Uint8Array(200_000)] };
    const full = { code: "degraded", message: "The log's file has no room left." };
    const small = rows.commit([append("t", "with the large one")], true);
    await expect(rows.commit([insert("u"), large], true)).rejects.toMatchObject(full);
    await expect(small).rejects.toMatchObject(full);
    expect(await rows.get("t")).toEqual(rowFake("t", { last: 1 }));
    expect(await rows.get("u")).toBeUndefined();
    expect(await rows.commit([append("t", "b")], true)).toEqual({ type: "done" });
  });

  test("because another program holds its lock refuses writes, and is read meanwhile", async () => {
    const rows = await open();
    await rows.commit([insert("t")], true);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(rows.commit([append("t", "a")], true)).rejects.toMatchObject({
      code: "degraded",
      message: "The log's file is locked by another program.",
      hint: expect.stringMatching(/^End the program that locks it/),
    });
    expect(await rows.get("t")).toEqual(rowFake("t"));
    other.exec("ROLLBACK");
    other.close();
    expect(await rows.commit([append("t", "a")], true)).toEqual({ type: "done" });
  });
});

describe("the statements of a commit", () => {
  const run: string[] = [];
  let rows: Rows;
  beforeEach(async () => {
    const sqlite = loadSqlite();
    class StatementCounter extends sqlite.DatabaseSync {
      override prepare(sql: string) {
        return new Proxy(super.prepare(sql), {
          get:
            (statement, name) =>
            (...values: unknown[]) => {
              run.push(sql);
              return Reflect.apply(Reflect.get(statement, name) as () => unknown, statement, values); // only methods are used
            },
        });
      }
      override exec(sql: string) {
        run.push(sql);
        super.exec(sql);
      }
    }
    rows = await openSqliteRows({ path }, { ...sqlite, DatabaseSync: StatementCounter });
    opened.push(rows);
    for (const id of ["t", "u", "v"]) await rows.commit([insert(id)], false);
    run.length = 0;
  });
  const delta = (id: string, last: number): Op => ({
    type: "update",
    id,
    guard: { epoch: 1, last, open: true },
    set: { proof: bytes("new") },
    entries: [bytes("delta")],
  });
  const firstWords = () => run.map((sql) => sql.split(" ")[0]);

  test("are four for one delta alone, and two for each of many", async () => {
    await rows.commit([delta("t", 0)], false);
    expect(firstWords()).toEqual(["BEGIN", "UPDATE", "INSERT", "COMMIT"]);
    run.length = 0;
    await Promise.all([delta("t", 1), delta("u", 0), delta("v", 0)].map((op) => rows.commit([op], false)));
    expect(run).toHaveLength(2 + 3 * 2);
  });

  test("flush the disk with a group if one of its commits asks for it, and with no other", async () => {
    await Promise.all([rows.commit([delta("t", 0)], false), rows.commit([delta("u", 0)], true)]);
    expect(run[0]).toBe("PRAGMA synchronous = FULL");
    expect(run.filter((sql) => sql === "COMMIT")).toHaveLength(1);
    run.length = 0;
    await rows.commit([delta("t", 1)], true);
    await rows.commit([delta("t", 2)], false);
    expect(firstWords()).toEqual([
      "BEGIN",
      "UPDATE",
      "INSERT",
      "COMMIT",
      "PRAGMA",
      "BEGIN",
      "UPDATE",
      "INSERT",
      "COMMIT",
    ]);
    expect(run[4]).toBe("PRAGMA synchronous = NORMAL");
  });
});

test("a sweep of many entries lets the writes of running turns come in between, and leaves nothing behind", async () => {
  const rows = await open();
  const entries = Array.from({ length: 1_000 }, () => bytes("x"));
  for (let turn = 0; turn < 40; turn++)
    await rows.commit(
      [insert(`t${turn}`, { tags: ["x"], expiresAtMs: 1 }), { type: "update", id: `t${turn}`, entries }],
      false,
    );
  await rows.commit([insert("running")], false);
  let swept = false;
  const sweep = rows.sweep(1, ["turn"]).then(() => (swept = true));
  for (let i = 0; i < 50; i++) await rows.commit([append("running", "y")], false);
  expect(swept).toBe(false); // there are 80 slices at least
  await sweep;
  const database = new DatabaseSync(path, { readOnly: true });
  const left = ["logs", "heads", "entries", "tags", "leftovers"].map(
    (table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"],
  );
  database.close();
  expect(left).toEqual([1, 1, 50, 0, 0]);
  expect(statSync(path).size).toBeGreaterThan(0);
});
