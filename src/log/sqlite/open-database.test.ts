import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import { until } from "../../base/wait.fake.ts";
import type { TurnEventBody } from "../event.ts";
import { leaseMs } from "../lease.ts";
import { readAll } from "../read-all.ts";
import { sealedCodec } from "../sealing/sealed-codec.ts";
import { newTurn } from "../turn.fake.ts";
import { migrate } from "./migrate.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";
import { applicationId, migrations } from "./schema.ts";

let folder: string;
let path: string;
const clock = new FakeClock();
/** Every how many-th byte of the file is changed in turn; 1 is all of them, and takes some minutes. */
const stride = Number(process.env["MILLRACE_FLIP_STRIDE"] ?? 409);
const text = (delta: string): TurnEventBody => ({ type: "text", delta });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-log-"));
  path = join(folder, "below", "log.db");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function withOneTurn(options: { readonly codec?: ReturnType<typeof sealedCodec> } = {}) {
  const { store } = await openSqliteLog({ path, clock, ...options });
  const { record, writer } = await store.create(newTurn(), "o");
  await writer?.append([text("a"), text("b")], clock.now());
  return { store, turnId: record.turnId };
}

/** The log at `path` as a build of that version had it. */
function writeOldLog(file: string, version: number): void {
  using old = new DatabaseSync(file);
  old.exec(migrations.slice(0, version).join(";"));
  const columns = (table: string) =>
    old
      .prepare("SELECT name FROM pragma_table_info(?)")
      .all(table)
      .map(({ name }) => String(name))
      .join();
  old.exec(`ATTACH '${path}' AS now; CREATE TEMP VIEW numbers AS SELECT number, turn_id FROM now.turns`);
  old.exec(`INSERT INTO turns (${columns("turns")})
    SELECT ${columns("turns")} FROM now.turns JOIN now.headers ON turn = number`);
  old.exec(`INSERT INTO events (${columns("events")})
    SELECT ${columns("events")} FROM now.events JOIN numbers ON number = turn`);
  if (version >= 7)
    old.exec("INSERT INTO headers SELECT turn_id, header FROM now.headers JOIN numbers ON number = turn");
  old.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
}

describe("the log's file", () => {
  test("and its companions are readable by their owner only, in a folder of the same kind", async () => {
    const { store } = await withOneTurn();
    const files = await readdir(join(folder, "below"));
    expect(files.sort()).toEqual(["log.db", "log.db-keys", "log.db-note", "log.db-shm", "log.db-wal"]);
    for (const file of files) expect(modeOf(join(folder, "below", file), 0o600)).toBe(0o600);
    expect(modeOf(join(folder, "below"), 0o700)).toBe(0o700);
    await store.close();
  });

  test("that is damaged is set aside whole, and a new log begins", async () => {
    const { store } = await withOneTurn();
    await store.close();
    const bytes = await readFile(path);
    bytes.fill(0xff, 1024);
    await writeFile(path, bytes);
    const opened = await openSqliteLog({ path, clock });
    expect(opened.setAside).toMatch(/log\.db\.damaged-\d+$/);
    expect(await readFile(opened.setAside ?? "")).toEqual(bytes);
    expect(await opened.store.list({ limit: 1 })).toEqual([]);
    await opened.store.close();
  });

  test.each([
    ["kept requests in the turns' rows", 6],
    ["named turns by their ids", 9],
  ])("of a build that %s is brought up to date, and shows the same", async (_, version) => {
    const { store, turnId } = await withOneTurn();
    const [gone, ended] = [await store.create(newTurn(), "o"), await store.create(newTurn(), "o")];
    await ended.writer?.append([text("of another turn")], clock.now());
    await gone.writer?.append([text("soon gone")], clock.now());
    await ended.writer?.append([{ type: "cancelled", by: "client" }], clock.now());
    await store.remove(gone.record.turnId);
    await store.requestCancel(turnId, "client");
    const shown = async (log: typeof store) =>
      Promise.all(
        [turnId, ended.record.turnId, gone.record.turnId].map(async (id) => [
          await log.get(id),
          await readAll(log, id).catch((error: Error) => error.message),
        ]),
      );
    const before = await shown(store);
    await store.close();
    const old = join(folder, "old.db");
    writeOldLog(old, version);
    const { store: opened } = await openSqliteLog({ path: old, clock });
    expect(await shown(opened)).toEqual(before);
    expect(await opened.listRunning()).toEqual([before[0]?.[0]]);
    const claimed = await opened.claim(turnId, "o");
    expect(await claimed?.writer.append([text("c")], clock.now())).toBe("appended");
    const next = await opened.create(newTurn(), "o");
    await next.writer?.append([text("a turn of this build")], clock.now());
    expect(await readAll(opened, turnId)).toHaveLength(3);
    expect(await readAll(opened, next.record.turnId)).toHaveLength(1);
    await opened.close();
    const tables = (file: string) => {
      using database = new DatabaseSync(file);
      return database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
    };
    expect(tables(old)).toEqual(tables(path));
  });

  test("of an older build is brought up to date once, if two gateways begin at the same moment", async () => {
    const { store } = await withOneTurn();
    await store.close();
    const old = join(folder, "old.db");
    writeOldLog(old, 9);
    using first = new DatabaseSync(old);
    class Second extends DatabaseSync {
      override exec(sql: string): void {
        if (sql.startsWith("BEGIN")) migrate(first, { nowMs: clock.now() });
        super.exec(sql);
      }
    }
    using second = new Second(old);
    migrate(second, { nowMs: clock.now() });
    expect(second.prepare("SELECT count(*) AS n FROM events").get()).toEqual({ n: 2 });
  });

  describe("of an older build, whose other gateway", () => {
    const owner = "another gateway";
    const renew = (file: string, aliveUntilMs: number) => {
      using old = new DatabaseSync(file);
      old.prepare("INSERT OR REPLACE INTO owners VALUES (?, ?)").run(owner, aliveUntilMs);
    };
    const oldLog = async () => {
      const { store, turnId } = await withOneTurn();
      await store.close();
      const file = join(folder, "old.db");
      writeOldLog(file, 9);
      renew(file, clock.now() + leaseMs);
      return { file, turnId };
    };

    test("still runs, is left as it is until that gateway ends", async () => {
      const { file, turnId } = await oldLog();
      const renewLater = async () => {
        await until(() => clock.sleeping === 1);
        renew(file, clock.now() + leaseMs + 1);
        await clock.advance(500);
      };
      const opening = openSqliteLog({ path: file, clock });
      await Promise.all([
        renewLater(),
        expect(opening).rejects.toMatchObject({
          code: "degraded",
          message: expect.stringContaining("older version") as string,
          hint: expect.stringContaining("millrace restart") as string,
        }),
      ]);
      using old = new DatabaseSync(file);
      expect(old.prepare("SELECT count(*) AS n FROM events WHERE turn_id = ?").get(turnId)).toEqual({ n: 2 });
      renew(file, 0); // as a gateway does when it ends
      const { store } = await openSqliteLog({ path: file, clock });
      expect(await readAll(store, turnId)).toHaveLength(2);
      await store.close();
    });

    test("was killed, is opened once its lease has ended", async () => {
      const { file, turnId } = await oldLog();
      const opening = openSqliteLog({ path: file, clock });
      await until(() => clock.sleeping === 1);
      await clock.advance(leaseMs);
      const { store } = await opening;
      expect(await readAll(store, turnId)).toHaveLength(2);
      await store.close();
    });

    test.each([
      ["has certainly ended", leaseMs, owner],
      ["has a lease from before the clock was set back", 3_600_000, undefined],
    ])("%s, is opened at once", async (_, leftMs, gone) => {
      const { file, turnId } = await oldLog();
      renew(file, clock.now() + leftMs);
      const { store } = await openSqliteLog({ path: file, clock, ownerIsGone: (other) => other === gone });
      expect(await readAll(store, turnId)).toHaveLength(2);
      await store.close();
    });
  });

  test("that is no database at all is set aside too", async () => {
    const { store } = await withOneTurn();
    await store.close();
    await writeFile(path, "this is a note that somebody kept here, longer than a header".repeat(99));
    const opened = await openSqliteLog({ path, clock });
    expect(await readFile(opened.setAside ?? "", "utf8")).toContain("a note that somebody kept");
    await opened.store.close();
  });

  test.each([
    ["a newer Millrace", "PRAGMA user_version = 99", "newer version"],
    ["another program", "PRAGMA application_id = 7", "another program"],
  ])("of %s is refused and left as it was", async (_, pragma, words) => {
    const { store } = await withOneTurn();
    await store.close();
    const database = new DatabaseSync(path);
    database.exec(pragma);
    database.close();
    const before = await readFile(path);
    await expect(openSqliteLog({ path, clock })).rejects.toMatchObject({
      code: "degraded",
      message: expect.stringContaining(words) as string,
    });
    expect(await readFile(path)).toEqual(before);
  });

  test("in a place that cannot be written is refused as `degraded`", async () => {
    await writeFile(join(folder, "below"), "a file where the folder should be");
    await expect(openSqliteLog({ path, clock })).rejects.toMatchObject({ code: "degraded" });
  });

  test("that has no room left makes an append fail as `degraded`, and keeps what it had", async () => {
    const { store, turnId } = await withOneTurn();
    await store.close();
    const small = await openSqliteLog({ path, clock, maxPages: 40 });
    const claimed = await small.store.claim(turnId, "o");
    await expect(claimed?.writer.append([text("x".repeat(1 << 20))], clock.now())).rejects.toMatchObject({
      code: "degraded",
      message: expect.stringContaining("no room") as string,
    });
    expect(await readAll(small.store, turnId)).toHaveLength(2);
    await claimed?.writer.append([text("c")], clock.now());
    expect(await readAll(small.store, turnId)).toHaveLength(3);
    await small.store.close();
  });

  test("of a sealed log with any single byte changed never shows anything else than what was written", {
    timeout: 600_000,
  }, async () => {
    const codec = sealedCodec(new Secret(Buffer.alloc(32, 7).toString("base64url")));
    const { store, turnId } = await withOneTurn({ codec });
    const written = (await readAll(store, turnId)).map((event) => JSON.stringify(event));
    await store.close();
    const bytes = await readFile(path);
    const outcomes = new Set<string>();
    for (let at = 0; at < bytes.length; at += stride) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x20;
      await writeFile(path, changed);
      outcomes.add(await shown(codec, turnId, written));
      await rm(join(folder, "below"), { recursive: true });
      await mkdir(join(folder, "below"));
    }
    expect([...outcomes].filter((outcome) => !["whole", "refused", "gone"].includes(outcome))).toEqual([]);
    expect(outcomes).toContain("refused");
  });
});

/** The outcome of reading a changed file: the whole log, an error, nothing at all, or (never) something else. */
async function shown(codec: ReturnType<typeof sealedCodec>, turnId: TurnId, written: readonly string[]) {
  try {
    const { store, setAside } = await openSqliteLog({ path, clock, codec });
    try {
      if (setAside !== undefined || (await store.get(turnId)) === undefined) return "gone";
      const { events } = await store.readAfter(turnId, startOfLog, { limit: 10 });
      const now = events.map((event) => JSON.stringify(event));
      return JSON.stringify(now) === JSON.stringify(written) ? "whole" : `changed: ${now.join()}`;
    } finally {
      await store.close();
    }
  } catch {
    return "refused";
  }
}

test("a process that is killed between two appends loses none that resolved", async () => {
  const script = `
    import { openSqliteLog } from ${JSON.stringify(join(import.meta.dirname, "open-sqlite-log.ts"))};
    import { systemClock } from ${JSON.stringify(join(import.meta.dirname, "../../base/clock.ts"))};
    import { newTurn } from ${JSON.stringify(join(import.meta.dirname, "../turn.fake.ts"))};
    const { store } = await openSqliteLog({ path: ${JSON.stringify(path)}, clock: systemClock });
    const { writer } = await store.create(newTurn(), "o");
    for (let i = 0; ; i++) {
      await writer.append([{ type: "text", delta: String(i) }], Date.now());
      if (!process.stdout.write(i + "\\n")) await new Promise((resolve) => process.stdout.once("drain", resolve));
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let complained = "";
  child.stderr.on("data", (chunk: Buffer) => (complained += chunk.toString()));
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.length > 2_000) break;
  }
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  const acknowledged = Number(said.slice(0, said.lastIndexOf("\n")).split("\n").at(-1));
  const { store } = await openSqliteLog({ path, clock });
  const [turn] = await store.listRunning();
  if (turn === undefined) throw new Error(`nothing was stored: ${complained}`);
  const deltas = (await readAll(store, turn.turnId)).map((event) => (event.type === "text" ? Number(event.delta) : -1));
  expect(deltas.length).toBeGreaterThan(acknowledged);
  expect(deltas).toEqual(deltas.map((_, i) => i));
  await store.close();
});
