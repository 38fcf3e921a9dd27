import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { killRedis, redisInstalled, redisServer, startRedis } from "../../test/support/redis.ts";
import { FakeClock } from "../base/clock.fake.ts";
import type { TurnEventBody } from "./event.ts";
import { openLog } from "./live.ts";
import { never } from "./live-log.fake.ts";
import { testKey } from "./memory-log.fake.ts";
import { readAll } from "./read-turn.ts";
import { openRedisRows } from "./redis.ts";
import { bytes, insert } from "./rows.conformance.ts";
import type { Op } from "./rows.ts";
import { encodeKey } from "./sealing/keys.ts";
import { bodiesOf, finished, text } from "./store-world.fake.ts";
import { newTurn } from "./turn.fake.ts";

const append: Op = { type: "update", id: "t", entries: [bytes("a")] };
let folder = "";
let server: ChildProcess | undefined;
let runs = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-redis-"));
  if (redisInstalled) server = await startRedis(folder);
});
afterAll(async () => {
  await killRedis(server);
  await rm(folder, { recursive: true, force: true });
});

/** Two homes with their logs over one server, and an operator of that server. */
async function homes() {
  const path = join(folder, "redis.sock");
  const prefix = `run-${++runs}:`;
  const clock = new FakeClock();
  const openRows = () => openRedisRows({ url: `unix:${path}`, prefix });
  const openHome = (home: string, gatewayKey = testKey) =>
    openLog({
      open: async () => ({ rows: await openRows(), gatewayKey }),
      abilities: { survivesRestart: true, isShared: true },
      clock,
      home,
    });
  const [own, other] = [await openHome("own"), await openHome("other")];
  const operator = await createClient({ socket: { path, tls: false } }).connect();
  onTestFinished(async () => {
    operator.destroy();
    for (const log of [own, other]) await log.close();
  });
  const { record, writer } = await own.create(newTurn(), "own/1");
  if (writer === undefined) throw new Error("the turn was there already");
  return {
    own,
    other,
    openHome,
    openRows,
    operator,
    clock,
    turnId: record.turnId,
    writer,
    key: `${prefix}home:own`,
    prefix,
  };
}

describe.skipIf(!redisInstalled)("homes that share a Redis server", () => {
  test("a home counts as there for two minutes after each sweep; then a reader elsewhere ends its turns by name, and its runner is refused", async () => {
    const { own, other, operator, key, turnId, writer } = await homes();
    await operator.pExpire(key, 1_000);
    await own.sweep();
    expect(await operator.pTTL(key)).toBeGreaterThan(100_000);
    expect(await operator.pTTL(key)).toBeLessThanOrEqual(120_000);
    await writer.append([text("half")], 1);
    expect(await other.get(turnId)).toMatchObject({ ended: false });
    const waiting = own.untilEnded(turnId, never);
    await operator.del(key);
    expect(await other.get(turnId)).toMatchObject({ ended: true, outcome: "failed" });
    expect(bodiesOf(await readAll(other, turnId))).toMatchObject([
      text("half"),
      { type: "failed", error: { message: "The machine that asks this turn is gone." } },
    ]);
    await own.sweep();
    await waiting; // its runner appends nothing, and hears that others have ended the turn
    expect(await writer.append([finished], 1)).toBe("fenced");
    expect(bodiesOf(await readAll(own, turnId))).toHaveLength(2);
  });

  test("a home that is back before its turn was ended keeps it", async () => {
    const { own, openRows, operator, key, turnId, writer } = await homes();
    const rows = await openRows();
    onTestFinished(() => rows.close());
    const claim: Op = { type: "update", id: turnId, guard: { epoch: 1, goneHome: "own" }, claim: true };
    expect(await rows.commit([claim], true)).toMatchObject({ type: "refused", by: { epoch: 1 } });
    await operator.del(key);
    await own.sweep();
    expect(await rows.commit([claim], true)).toMatchObject({ type: "refused", by: { epoch: 1 } });
    expect(await writer.append([finished], 1)).toBe("appended");
    await operator.del(key);
    expect(await rows.commit([claim], true)).toEqual({ type: "done" });
  });

  /** Writes events that a server then lacks, as a replica that was behind. */
  async function withLoss(lost: readonly TurnEventBody[]) {
    const world = await homes();
    const { operator, writer, prefix } = world;
    await writer.append([text("a")], 1);
    const kept = await operator.keys(`${prefix}*`);
    for (const key of kept) await operator.copy(key, `kept:${key}`);
    for (const body of lost) await writer.append([body], 1);
    for (const key of kept) await operator.copy(`kept:${key}`, key, { REPLACE: true });
    expect(await readAll(world.other, world.turnId)).toHaveLength(1);
    return world;
  }

  test.each([
    ["that runs", [text("b"), text("c")]],
    ["that has ended", [text("b"), finished]],
  ])("a turn %s is whole with the next sweep in a server that lost its newest events", async (_, lost) => {
    const { own, other, turnId } = await withLoss(lost);
    await own.sweep();
    expect(bodiesOf(await readAll(other, turnId))).toEqual([text("a"), ...lost]);
    expect(await other.get(turnId)).toMatchObject({ ended: lost.includes(finished) });
  });

  test("a turn whose newest events a server lost goes on with its next one, and is whole there", async () => {
    const { own, other, clock, turnId, writer } = await withLoss([text("b")]);
    expect(await writer.append([text("c")], 1)).toBe("appended");
    expect(own.degradedBy?.message).toContain("lost events");
    const recovered = own.untilRecovered(never);
    await clock.advance(1_000);
    await recovered;
    expect(bodiesOf(await readAll(other, turnId))).toEqual([text("a"), text("b"), text("c")]);
  });

  test("turns go on in memory when a server has lost them all", async () => {
    const { own, operator, clock, turnId, writer, prefix } = await homes();
    const { record, writer: another } = await own.create(newTurn(), "own/1");
    await writer.append([text("a")], 1);
    await operator.del(await operator.keys(`${prefix}*`));
    expect(await own.get(turnId)).toMatchObject({ ended: false });
    expect(await writer.append([text("b")], 1)).toBe("appended");
    const recovered = own.untilRecovered(never);
    await clock.advance(1_000);
    await recovered;
    expect(await writer.append([finished], 1)).toBe("appended");
    expect(bodiesOf(await readAll(own, turnId))).toEqual([text("a"), text("b"), finished]);
    expect(await another?.append([finished], 1)).toBe("appended");
    expect(await own.get(record.turnId)).toMatchObject({ ended: true, degraded: true });
  });

  test("a server that became a replica is left for the one at its address", async () => {
    const { own, operator, clock, turnId, writer } = await homes();
    await operator.sendCommand(["REPLICAOF", "127.0.0.1", "1"]);
    onTestFinished(async () => void (await operator.sendCommand(["REPLICAOF", "NO", "ONE"])));
    const first = (await operator.clientList()).map(({ id }) => id);
    expect(await writer.append([text("a")], 1)).toBe("appended");
    expect(own.degradedBy?.message).toContain("read-only replica");
    await expect.poll(async () => (await operator.clientList()).some(({ id }) => !first.includes(id))).toBe(true);
    await operator.sendCommand(["REPLICAOF", "NO", "ONE"]);
    const recovered = own.untilRecovered(never);
    await clock.advance(1_000);
    await recovered;
    expect(bodiesOf(await readAll(own, turnId))).toEqual([text("a")]);
  });

  test("times are those of the server", async () => {
    const { own, operator, turnId } = await homes();
    const [seconds] = await operator.sendCommand<string[]>(["TIME"]);
    const nowMs = Number(seconds) * 1_000;
    expect(Math.abs(own.now() - nowMs)).toBeLessThan(60_000);
    expect((await own.get(turnId))?.expiresAtMs).toBeGreaterThan(nowMs);
  });

  test("a gateway whose turns are sealed with another key is refused, and keeps no connection", async () => {
    const { openHome, operator } = await homes();
    const count = async () => (await operator.clientList()).length;
    const before = await count();
    const another = openHome("third", encodeKey(new Uint8Array(32).fill(9)));
    await expect(another).rejects.toMatchObject({ code: "invalid_request" });
    await expect.poll(count).toBe(before);
  });

  test("a cancel from elsewhere is heard, also after the server refused to answer", async () => {
    const { own, other, operator, clock, turnId, prefix } = await homes();
    const heard = own.untilCancelRequested(turnId, never);
    await operator.configResetStat();
    await operator.aclSetUser("default", ["-evalsha", "-eval"]);
    await expect
      .poll(async () => {
        await operator.publish(`${prefix}wake`, `cancel:${turnId}`); // the watch looks again
        return operator.info("errorstats");
      })
      .toContain("NOPERM");
    await operator.aclSetUser("default", ["+evalsha", "+eval"]);
    await other.requestCancel(turnId, "client");
    await clock.advance(5_000);
    expect(await heard).toBe("client");
  });

  test("a cancel wakes the gateway that runs the turn, and a delta does not", async () => {
    const { own, other, openRows, turnId, writer } = await homes();
    const rows = await openRows();
    onTestFinished(() => rows.close());
    const heard: string[] = [];
    const cancelled = rows.changed(`cancel:${turnId}`, never).then(() => heard.push("cancel"));
    const changed = rows.changed(turnId, never).then(() => heard.push("delta"));
    await writer.append([text("a")], 1);
    await changed;
    await other.requestCancel(turnId, "client");
    await cancelled;
    expect(heard).toEqual(["delta", "cancel"]);
    expect(await own.untilCancelRequested(turnId, never)).toBe("client");
  });
});

describe.skipIf(!redisInstalled)("a Redis server that goes away", () => {
  test("makes every call fail as `degraded` at once, and is used again when it is back", async () => {
    const away = await redisServer();
    const rows = await openRedisRows({ url: away.url });
    await rows.commit([insert("t")], true);
    await away.kill();
    await expect(rows.commit([append], true)).rejects.toMatchObject({ code: "degraded" });
    await expect(rows.get("t")).rejects.toMatchObject({ code: "degraded" });
    const woken = rows.changed("t", never);
    await away.start();
    await woken; // messages were missed
    await expect.poll(() => rows.commit([append], true).catch(() => "failing")).toEqual({ type: "done" });
    await rows.close();
  });
});
