import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { mayMount, smallDisk } from "../../../test/support/small-disk.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { MillraceError } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { openLiveLog } from "../live/open-live-log.ts";
import { newTurn } from "../turn.fake.ts";
import type { Damage } from "./damage.ts";
import { openSqliteLog } from "./open-sqlite-log.ts";

const clock = new FakeClock();
const keyed = (idempotencyKey: string) => ({ ...newTurn(), idempotencyKey });

/** A log on a disk of its own, with one finished turn under the key `held`. */
async function heldOn(folder: string, { killed = false } = {}) {
  const path = join(folder, "log.db");
  const { store } = await openSqliteLog({ path, clock });
  const { record, writer } = await store.create(keyed("held"), "o");
  const end = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "the answer" } as const;
  await writer?.append([{ type: "text", delta: "the answer" }, end], clock.now());
  if (killed) {
    // as a killed process leaves it after a restart of the machine: a WAL, without shared memory
    for (const suffix of ["", "-wal"]) spawnSync("cp", [path + suffix, join(folder, `copy${suffix}`)]);
    await store.close();
    for (const suffix of ["", "-wal"]) renameSync(join(folder, `copy${suffix}`), path + suffix);
  } else {
    await store.close();
  }
  return { path, turnId: record.turnId };
}

async function mustAnswer(path: string, turnId: string) {
  const { store } = await openSqliteLog({ path, clock });
  const [held] = await store.list({ caller: keyed("").caller, idempotencyKey: "held", limit: 1 });
  expect(held?.turnId).toBe(turnId);
  if (held === undefined) return store;
  const { events, ended } = await store.readAfter(held.turnId, startOfLog, { limit: 9 });
  expect([events[0], ended]).toMatchObject([{ delta: "the answer" }, true]);
  await expect(store.create(keyed("new"), "o")).rejects.toMatchObject({ code: "degraded" });
  await expect(store.create(keyed("new"), "o")).rejects.toMatchObject({ code: "degraded" });
  expect((await store.list({ limit: 9 })).map((turn) => turn.turnId)).toEqual([turnId]);
  return store;
}

for (const killed of [false, true]) {
  const how = killed ? "of a killed process" : "that was closed";
  test.skipIf(!mayMount)(`a log ${how} on a full disk is read, and written again once there is room`, async () => {
    const disk = smallDisk(4);
    const { path, turnId } = await heldOn(disk.folder, { killed });
    disk.fill();
    const store = await mustAnswer(path, turnId);
    disk.free();
    expect((await store.create(keyed("new"), "o")).writer).toBeDefined();
    const other = new DatabaseSync(path, { readOnly: true }); // nothing is locked any more
    expect(other.prepare("SELECT count(*) AS n FROM turns").get()).toEqual({ n: 2 });
    other.close();
    await store.close();
  });

  test.skipIf(!mayMount)(
    `a log ${how} on a read-only disk is read, and written again once that may be written`,
    async () => {
      const disk = smallDisk(4);
      const { path, turnId } = await heldOn(disk.folder, { killed });
      disk.readOnly(true);
      const store = await mustAnswer(path, turnId);
      disk.readOnly(false);
      expect((await store.create(keyed("new"), "o")).writer).toBeDefined();
      await store.close();
      expect(readdirSync(disk.folder).sort()).toEqual(["log.db", "log.db-keys", "log.db-note"]);
    },
  );
}

test.skipIf(!mayMount)(
  "a live log on a read-only disk joins what it holds, keeps new turns in memory and stores them later",
  async () => {
    const disk = smallDisk(4);
    const { path, turnId } = await heldOn(disk.folder, { killed: true });
    disk.readOnly(true);
    const said: (MillraceError | undefined)[] = [];
    const events = new Emitter<StoreLifecycle>();
    events.on("store_failed", ({ error }) => said.push(error));
    events.on("store_recovered", () => said.push(undefined));
    const fast = new FakeClock();
    const live = await openLiveLog({
      open: async () => (await openSqliteLog({ path, clock: fast })).store,
      capabilities: { survivesRestart: true, sharedBetweenProcesses: true },
      clock: fast,
      events,
    });
    onTestFinished(() => live.close());
    expect(said.map((error) => error?.code)).toEqual(["degraded"]);
    const again = await live.create(keyed("held"), "o");
    expect([again.record.turnId, again.writer]).toEqual([turnId, undefined]);
    const made = await live.create(keyed("new"), "o");
    expect(made.record.degraded).toBe(true);
    const { turnId: newId } = made.record;
    disk.readOnly(false);
    await fast.advance(1_000);
    await expect.poll(() => said.length).toBe(2);
    const other = new DatabaseSync(path, { readOnly: true });
    expect(other.prepare("SELECT turn_id FROM turns WHERE turn_id = ?").get(newId)).toBeDefined();
    other.close();
  },
);

test.skipIf(!mayMount)(
  "a damaged log on a read-only disk refuses the keys that it lost, and is kept once it can be",
  async () => {
    const disk = smallDisk(4);
    const { path } = await heldOn(disk.folder);
    const { store: filled } = await openSqliteLog({ path, clock });
    await filled.create(keyed("lost"), "o");
    const wal = readFileSync(`${path}-wal`);
    await filled.close();
    const database = new DatabaseSync(path);
    database.exec(
      "DELETE FROM turns WHERE owner = 'o' AND outcome IS NULL; UPDATE log_state SET commits = commits - 1",
    );
    database.close();
    wal[60] = (wal[60] ?? 0) ^ 1;
    writeFileSync(`${path}-wal`, wal);
    disk.readOnly(true);
    const damages: Damage[] = [];
    const events = new Emitter<StoreLifecycle>();
    events.on("store_damaged", (damage) => damages.push(damage));
    const { store } = await openSqliteLog({ path, clock, events });
    expect(damages).toEqual([{ copy: undefined, lostKeys: 1 }]);
    const { caller } = keyed("");
    expect(await store.list({ caller, idempotencyKey: "held", limit: 1 })).toHaveLength(1);
    const lost = store.list({ caller, idempotencyKey: "lost", limit: 1 });
    await expect(lost).rejects.toMatchObject({ code: "log_damaged" });
    disk.readOnly(false);
    await expect(store.create(keyed("lost"), "o")).rejects.toMatchObject({ code: "log_damaged" });
    expect(damages[1]?.copy).toContain(".damaged-");
    expect((await store.create(keyed("new"), "o")).writer).toBeDefined();
    await store.close();
  },
);

test.skipIf(!mayMount)("a log of an older version on a read-only disk is refused in words", async () => {
  const disk = smallDisk(4);
  const { path } = await heldOn(disk.folder);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA user_version = 3");
  database.close();
  disk.readOnly(true);
  await expect(openSqliteLog({ path, clock })).rejects.toMatchObject({ code: "degraded", message: /another version/ });
});
