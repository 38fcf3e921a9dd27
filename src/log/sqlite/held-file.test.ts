import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { Emitter } from "../../base/emitter.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnEventBody } from "../event.ts";
import { eventIdOf } from "../event-id.ts";
import type { StoreLifecycle } from "../lifecycle.ts";
import { readAll } from "../read-all.ts";
import { newTurn, SettableClock } from "../turn.fake.ts";
import { openSqliteLog, type SqliteLogOptions } from "./open-sqlite-log.ts";

/** Each look at it is later than any wait: nothing is left out because it was done a moment ago. */
class LateClock extends SettableClock {
  #looks = 0;

  override monotonic(): number {
    this.#looks += 1;
    return this.#looks * 1e6;
  }
}

const clock = new LateClock(1_750_000_000_000);
const never = new AbortController().signal;
const text = (delta: string): TurnEventBody => ({ type: "text", delta });
/** The cursor of a reader that waits for the events after the first two. */
const cursor = eventIdOf(2);
const end: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "abc" };

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-held-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return join(folder, "below", "log.db");
}

async function open(path: string, options: Partial<SqliteLogOptions> = {}) {
  const { store, setAside } = await openSqliteLog({ path, clock, ...options });
  onTestFinished(() => store.close());
  expect(setAside).toBeUndefined();
  return store;
}

/** A log with an ended turn, a running turn, and a living owner. */
async function used(path: string, options: Partial<SqliteLogOptions> = {}) {
  const store = await open(path, options);
  await store.renewOwner("me", clock.now() + 10_000);
  const ended = await store.create(newTurn(), "me");
  await ended.writer?.append([text("a"), end], clock.now());
  const { record, writer } = await store.create(newTurn({ idempotencyKey: "k" }), "me");
  await writer?.append([text("a"), text("b")], clock.now());
  if (writer === undefined) throw new Error("nobody else has this key");
  return { store, endedId: ended.record.turnId, turnId: record.turnId, writer };
}

const bodies = async (store: Awaited<ReturnType<typeof open>>, turnId: TurnId) =>
  (await readAll(store, turnId)).map((event) => ("delta" in event ? event.delta : event.type));

// An open file cannot be taken away on Windows.
describe.skipIf(process.platform === "win32")("a log's file that is taken away while it is open", () => {
  const companions = ["", "-wal", "-shm"];
  test.each([
    ["with its folder", (path: string) => rmSync(dirname(path), { recursive: true })],
    ["alone", (path: string) => rmSync(path)],
    ["with its companions", (path: string) => companions.forEach((each) => rmSync(path + each, { force: true }))],
    ["in its newest part, the -wal", (path: string) => rmSync(`${path}-wal`)],
    ["by moving its folder", (path: string) => renameSync(dirname(path), `${dirname(path)}-away`)],
  ])("%s is put back with all that it held, and continues", async (_, takeAway) => {
    const path = newPath();
    const events = new Emitter<StoreLifecycle>();
    const onRestored = vi.fn();
    events.on("store_restored", onRestored);
    const { store, endedId, turnId, writer } = await used(path, { events });
    const waiting = store.untilPast(turnId, cursor, never);
    takeAway(path);
    expect(await writer.append([text("c")], clock.now())).toBe("appended");
    await waiting;
    await store.renewOwner("me", clock.now() + 20_000);
    expect(onRestored).toHaveBeenCalledTimes(1);
    const beside = new Set(["log.db-keys", "log.db-note"]);
    expect(
      readdirSync(dirname(path))
        .filter((name) => !beside.has(name))
        .sort(),
    ).toEqual(["log.db", "log.db-shm", "log.db-wal"]);
    for (const each of companions) expect(modeOf(path + each, 0o600)).toBe(0o600);

    const next = await open(path); // as another process would, while this one is still there: it may be killed now
    expect(await bodies(next, endedId)).toEqual(["a", "finished"]);
    expect(await bodies(next, turnId)).toEqual(["a", "b", "c"]);
    expect((await next.list({ caller: "caller-1", idempotencyKey: "k", limit: 1 }))[0]?.turnId).toBe(turnId);
    await writer.append([end], clock.now());
    expect(await bodies(next, turnId)).toEqual(["a", "b", "c", "finished"]);
  });

  test("behind a link is put back where it was, and the link stays", async () => {
    const path = newPath();
    const target = `${path}-elsewhere`;
    mkdirSync(dirname(path));
    symlinkSync(target, path);
    const { turnId, writer } = await used(path);
    for (const each of companions) rmSync(target + each);
    await writer.append([text("c")], clock.now());
    expect(readlinkSync(path)).toBe(target);
    expect(await bodies(await open(path), turnId)).toEqual(["a", "b", "c"]);
  });

  test("is put back by one of those who share it, and the other continues with that", async () => {
    const path = newPath();
    const { store, turnId, writer } = await used(path);
    const other = await open(path);
    await other.renewOwner("other", clock.now() + 10_000);
    const theirs = await other.create(newTurn(), "other");
    rmSync(dirname(path), { recursive: true });
    await writer.append([text("c")], clock.now());
    await theirs.writer?.append([text("x")], clock.now());
    await store.renewOwner("me", clock.now() + 20_000);
    await theirs.writer?.append([text("y")], clock.now());
    const next = await open(path);
    expect(await bodies(next, turnId)).toEqual(["a", "b", "c"]);
    expect(await bodies(next, theirs.record.turnId)).toEqual(["x", "y"]);
  });

  test("and replaced takes no more, leaves what stands there as it is, and is put back once that is gone", async () => {
    const path = newPath();
    const { turnId, writer } = await used(path);
    const foreign = newPath();
    const { store: elsewhere } = await openSqliteLog({ path: foreign, clock });
    await elsewhere.renewOwner("me", 1); // an older state of the same log, as from a backup, is another one too
    const { record } = await elsewhere.create(newTurn(), "me");
    await elsewhere.close();
    renameSync(path, `${path}-old`);
    copyFileSync(foreign, path);
    const beside = readFileSync(`${path}-wal`);
    await expect(writer.append([text("c")], clock.now())).rejects.toMatchObject({ code: "degraded" });
    expect([readFileSync(path), readFileSync(`${path}-wal`)]).toEqual([readFileSync(foreign), beside]);
    for (const each of ["-wal", "-shm"]) rmSync(path + each);
    await expect(writer.append([text("c")], clock.now())).rejects.toMatchObject({ code: "degraded" });
    const { store: there } = await openSqliteLog({ path, clock });
    expect((await there.list({ limit: 9 })).map(({ turnId }) => turnId)).toEqual([record.turnId]);
    await there.close();
    rmSync(path);
    await writer.append([text("c")], clock.now());
    expect(await bodies(await open(path), turnId)).toEqual(["a", "b", "c"]);
  });

  test("and cannot be put back is degraded, and is put back once it can", async () => {
    const path = newPath();
    const { turnId, writer } = await used(path);
    rmSync(dirname(path), { recursive: true });
    writeFileSync(dirname(path), "no folder");
    await expect(writer.append([text("c")], clock.now())).rejects.toMatchObject({
      code: "degraded",
      message: expect.stringContaining("gone") as string,
    });
    rmSync(dirname(path));
    await writer.append([text("c")], clock.now());
    expect(await bodies(await open(path), turnId)).toEqual(["a", "b", "c"]);
  });
});
