import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import { isMillraceError } from "../../base/errors.ts";
import { type CascadeId, type ModelUid, startOfLog } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import type { StreamName } from "../client-stream.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { newTurn } from "../turn.fake.ts";
import { NoteWriter } from "./commit-note.ts";
import type { Damage } from "./damage.ts";
import { inspectSqliteLog } from "./inspect-sqlite-log.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";

let folder: string;
let path: string;
const clock = new FakeClock();
const started = {
  type: "started",
  modelUid: "m" as ModelUid,
  backend: "cascade",
  cascadeId: "c" as CascadeId,
} as const;
const keyed = (idempotencyKey: string) => ({ ...newTurn(), idempotencyKey });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-damage-"));
  path = join(folder, "log.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function open() {
  const damages: Damage[] = [];
  const events = new Emitter<StoreLifecycle>();
  events.on("store_damaged", (damage) => damages.push(damage));
  const { store } = await openSqliteLog({ path, clock, events });
  return { store, damages };
}

/** A log as a killed process leaves it, with a turn of each key; its files are copied while it is open. */
async function killedWith(...keys: readonly string[]) {
  const { store } = await open();
  for (const key of keys) {
    const { writer } = await store.create(keyed(key), "o");
    await writer?.append([started], clock.now());
  }
  const name: StreamName = { caller: "c", name: "s", clientKey: new Secret(Buffer.alloc(32, 7).toString("base64url")) };
  const stream = await store.attachStream(name, "create");
  await store.admit(stream, { seqno: 0, payload: Buffer.from("hello") }, { turn: newTurn(), owner: "o" });
  const killed = `${path}.killed`;
  writeFileSync(killed, "");
  for (const suffix of ["", "-wal", "-note", "-keys"]) copyFileSync(path + suffix, killed + suffix);
  await store.close();
  for (const suffix of ["", "-note", "-keys"]) rmSync(path + suffix, { force: true });
  path = killed;
  return name;
}

function flip(offset: number) {
  const wal = readFileSync(`${path}-wal`);
  wal[offset] = (wal[offset] ?? 0) ^ 1;
  writeFileSync(`${path}-wal`, wal);
  return wal;
}

async function mustRefuse(key: string) {
  const { store } = await open();
  const refused = { code: "log_damaged" };
  await expect(store.create(keyed(key), "o")).rejects.toMatchObject(refused);
  await expect(store.list({ caller: keyed(key).caller, idempotencyKey: key, limit: 1 })).rejects.toMatchObject(refused);
  await store.close();
}

describe("a log whose commits are lost", () => {
  test.each([16, 40, 60, 5000, 66_603])(
    "by a flipped bit at %i of its WAL says so, once, and keeps the files as they were",
    async (offset) => {
      await killedWith("a", "b");
      const wal = flip(offset);
      expect((await inspectSqliteLog(path)).kind).toBe("damaged");
      const { store, damages } = await open();
      expect(damages).toEqual([{ copy: `${path}.damaged-${clock.now()}`, lostKeys: 3 }]);
      expect(readFileSync(`${damages[0]?.copy}-wal`)).toEqual(wal);
      await store.create(keyed("c"), "o");
      await store.create(newTurn(), "o");
      await store.close();
      await mustRefuse("a"); // also after the next start
      await mustRefuse("b");
      const next = await open();
      expect(next.damages).toEqual([]);
      expect((await next.store.create(keyed("c"), "o")).writer).toBeUndefined();
      await next.store.close();
    },
  );

  test("by being emptied says so, and its keys and messages are refused", async () => {
    const name = await killedWith("a");
    truncateSync(path, 0);
    expect((await inspectSqliteLog(path)).kind).toBe("damaged");
    const { store, damages } = await open();
    expect(damages).toMatchObject([{ lostKeys: 2 }]);
    expect(existsSync(`${damages[0]?.copy}-wal`)).toBe(true);
    const stream = await store.attachStream(name, "create");
    const message = { seqno: 0, payload: Buffer.from("hello") };
    const sent = store.admit(stream, message, { turn: newTurn(), owner: "o" });
    await expect(sent).rejects.toMatchObject({ code: "log_damaged" });
    await store.close();
    await mustRefuse("a");
  });

  test("continues with the turns before the damage, but with none whose prompt may have been sent", async () => {
    for (let fromEnd = 4_000; fromEnd < 60_000; fromEnd += 4_120) {
      await killedWith("a", "b", "c");
      flip(readFileSync(`${path}-wal`).length - fromEnd);
      const { store, damages } = await open();
      expect(damages).toHaveLength(1);
      for (const { lastEventId } of await store.listRunning()) expect(lastEventId).not.toBe(startOfLog);
      for (const key of ["a", "b", "c"]) {
        const code = await store.create(keyed(key), "o").then(
          ({ writer }) => (writer === undefined ? "held" : "new"),
          (error: unknown) => (isMillraceError(error) ? error.code : error),
        );
        expect(["held", "log_damaged"]).toContain(code);
      }
      await store.close();
      path = join(folder, `${fromEnd}`, "log.db");
    }
  });

  test("because SQLite cannot read the file refuses the keys that it had", async () => {
    await killedWith("a");
    writeFileSync(path, Buffer.alloc(9000, 0xff));
    rmSync(`${path}-wal`); // it held every page
    const { store, damages } = await open();
    expect(damages).toMatchObject([{ lostKeys: 2 }]);
    await store.close();
    await mustRefuse("a");
  });

  test("forgets lost keys once their turns would be forgotten", async () => {
    await killedWith("a");
    flip(16);
    const { store } = await open();
    await store.sweep(clock.now() + 49 * 3_600_000);
    expect((await store.create(keyed("a"), "o")).writer).toBeDefined();
    await store.close();
  });
});

describe("no damage is seen", () => {
  const found: Damage[] = [];
  const opened = async () => {
    const { store, damages } = await open();
    found.push(...damages);
    return store;
  };
  beforeEach(() => void found.splice(0));

  test("after a kill, nor after a clean end", async () => {
    await killedWith("a");
    const store = await opened();
    expect((await store.create(keyed("a"), "o")).writer).toBeUndefined();
    await store.close();
    await (await opened()).close();
    expect(found).toEqual([]);
  });

  test("when a second process has the log open and writes", async () => {
    const first = await opened();
    await first.create(keyed("a"), "o");
    const second = await opened();
    await second.create(keyed("b"), "p");
    await first.create(keyed("c"), "o");
    await second.close();
    await (await opened()).close();
    await first.close();
    await (await opened()).close();
    expect(found).toEqual([]);
  });

  test("when another program has merged the WAL into the file", async () => {
    await killedWith("a");
    const other = new DatabaseSync(path);
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    other.close();
    await (await opened()).close();
    expect(found).toEqual([]);
  });

  test("when the file was deleted on purpose, with its companions or without: its keys are free", async () => {
    for (const gone of [
      ["", "-wal"],
      ["", "-wal", "-note"],
      ["", "-wal", "-note", "-keys"],
    ]) {
      const { store } = await open();
      await store.create(keyed("a"), "o");
      await store.close();
      for (const suffix of gone) rmSync(path + suffix, { force: true });
      const fresh = await opened();
      expect((await fresh.create(keyed("a"), "o")).writer).toBeDefined();
      await fresh.close();
    }
    expect(found).toEqual([]);
  });

  test("when an older copy was put back", async () => {
    await (await opened()).close();
    copyFileSync(path, join(folder, "backup"));
    const store = await opened();
    await store.create(keyed("a"), "o");
    await store.close();
    copyFileSync(join(folder, "backup"), path);
    await (await opened()).close();
    await (await opened()).close();
    expect(found).toEqual([]);
  });

  test("when the note is torn, or of another log", async () => {
    await killedWith("a");
    for (const note of ["", "nonsense\n", "other 9999999999999999 0 abc\n"]) {
      writeFileSync(`${path}-note`, note);
      await (await opened()).close();
    }
    const another = new NoteWriter(path);
    another.write({ logId: "another", commits: 9_999, atMs: 0 });
    another.close();
    await (await opened()).close();
    expect(found).toEqual([]);
  });

  test.skipIf(process.platform === "win32")("when the file was taken away and put back", async () => {
    const store = await opened();
    await store.create(keyed("a"), "o");
    for (const suffix of ["", "-wal", "-note", "-keys"]) rmSync(path + suffix, { force: true });
    await store.create(keyed("b"), "o");
    await store.create(keyed("c"), "o");
    await store.close();
    const next = await opened();
    await next.close();
    expect(readFileSync(`${path}-keys`, "latin1").trim().split("\n")).toHaveLength(3);
    expect(found).toEqual([]);
  });
});

test("a turn that was removed on purpose leaves its key free after damage", async () => {
  const { store } = await open();
  const { record } = await store.create(keyed("a"), "o");
  await store.remove(record.turnId);
  await store.close();
  truncateSync(path, 0);
  const next = await open();
  expect(next.damages).toMatchObject([{ lostKeys: 0 }]);
  expect((await next.store.create(keyed("a"), "o")).writer).toBeDefined();
  await next.store.close();
});
