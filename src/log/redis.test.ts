import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { redisInstalled, redisProgram } from "../../test/support/redis.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { openLog } from "./live.ts";
import { testKey } from "./memory-log.fake.ts";
import { readAll } from "./read-turn.ts";
import { openRedisRows } from "./redis.ts";
import { bytes, describeRows, insert } from "./rows.conformance.ts";
import type { Op } from "./rows.ts";
import { describeLogStore } from "./store.conformance.ts";
import { bodiesOf, finished, text } from "./store-world.fake.ts";
import { newTurn } from "./turn.fake.ts";

let folder = "";
let server: ChildProcess | undefined;
const url = () => `unix:${join(folder, "redis.sock")}`;
const append: Op = { type: "update", id: "t", entries: [bytes("a")] };

/** A server of our own on a socket file: no port, nothing on the disk. */
async function startServer(): Promise<ChildProcess> {
  const options = ["--port", "0", "--unixsocket", join(folder, "redis.sock"), "--save", "", "--appendonly", "no"];
  const child = spawn(redisProgram, [...options, "--dir", folder], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const chunk of child.stdout) if ((said += String(chunk)).includes("eady to accept connections")) break;
  return child;
}

async function stopServer(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

describe.skipIf(!redisInstalled)("with a redis-server on PATH", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-redis-"));
    server = await startServer();
  });
  afterAll(async () => {
    await stopServer(server);
    await rm(folder, { recursive: true, force: true });
  });

  let runs = 0;
  describeRows("a Redis server", { survivesRestart: true, isShared: true }, async () => {
    const options = { url: url(), prefix: `run-${++runs}:` };
    const module = JSON.stringify(new URL("redis.ts", import.meta.url).href);
    return {
      open: () => openRedisRows(options),
      elsewhere: `await (await import(${module})).openRedisRows(${JSON.stringify(options)})`,
      dispose: async () => {},
    };
  });

  const abilities = { survivesRestart: true, isShared: true };
  describeLogStore("in Redis", abilities, async () => {
    const options = { url: url(), prefix: `log-${++runs}:` };
    return {
      open: (clock) => {
        const open = async () => {
          const rows = await openRedisRows(options);
          Object.assign(rows.shared ?? {}, { now: () => clock.now() }); // the test sets the time
          for (const home of ["owner-1", "owner-2"]) await rows.shared?.renewHome(home);
          return { rows, gatewayKey: testKey };
        };
        return openLog({ open, abilities, clock, home: "owner-1" });
      },
      dispose: async () => {},
    };
  });

  const prefixOf = (run: number) => `homes-${run}:`;
  /** Two homes with their logs over one server, and an operator of that server. */
  async function homes() {
    const prefix = prefixOf(++runs);
    const clock = new FakeClock();
    const openHome = (home: string) =>
      openLog({
        open: async () => ({ rows: await openRedisRows({ url: url(), prefix }), gatewayKey: testKey }),
        abilities,
        clock,
        home,
      });
    const [own, other] = [await openHome("own"), await openHome("other")];
    const operator = await createClient({ socket: { path: join(folder, "redis.sock"), tls: false } }).connect();
    onTestFinished(async () => {
      operator.destroy();
      for (const log of [own, other]) await log.close();
    });
    const { record, writer } = await own.create(newTurn(), "own/1");
    if (writer === undefined) throw new Error("the turn was there already");
    return { own, other, operator, key: `${prefix}home:own`, clock, turnId: record.turnId, writer };
  }

  test("a home counts as there for two minutes after each sweep; then a reader elsewhere ends its turns by name, and its runner is refused", async () => {
    const { own, other, operator, key, turnId, writer } = await homes();
    await operator.pExpire(key, 1_000);
    await own.sweep();
    expect(await operator.pTTL(key)).toBeGreaterThan(100_000);
    expect(await operator.pTTL(key)).toBeLessThanOrEqual(120_000);
    await writer.append([text("half")], 1);
    expect(await other.get(turnId)).toMatchObject({ ended: false });
    await operator.pExpire(key, 1);
    await expect.poll(() => operator.exists(key)).toBe(0);
    expect(await other.get(turnId)).toMatchObject({ ended: true, outcome: "failed" });
    expect(bodiesOf(await readAll(other, turnId))).toMatchObject([
      text("half"),
      { type: "failed", error: { message: "The machine that asks this turn is gone." } },
    ]);
    await own.sweep();
    expect(await writer.append([finished], 1)).toBe("fenced");
    expect(bodiesOf(await readAll(own, turnId))).toHaveLength(2);
  });

  test("a home that is back before its turn was ended keeps it", async () => {
    const { own, operator, key, turnId, writer } = await homes();
    const rows = await openRedisRows({ url: url(), prefix: key.slice(0, -"home:own".length) });
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

  test("a cancel from elsewhere is heard, also after the server refused to answer", async () => {
    const { own, other, operator, clock, turnId } = await homes();
    const heard = own.untilCancelRequested(turnId, new AbortController().signal);
    await operator.configResetStat();
    await operator.aclSetUser("default", ["-evalsha", "-eval"]);
    await expect
      .poll(async () => {
        await operator.publish(`${prefixOf(runs)}wake`, `cancel:${turnId}`); // the watch looks again
        return operator.info("errorstats");
      })
      .toContain("NOPERM");
    await operator.aclSetUser("default", ["+evalsha", "+eval"]);
    await other.requestCancel(turnId, "client");
    await clock.advance(5_000);
    expect(await heard).toBe("client");
  });

  test("a removed row leaves no key behind", async () => {
    const rows = await openRedisRows({ url: url(), prefix: "empty:" });
    await rows.commit(
      [insert("t", { tags: ["key:k", "x"], expiresAtMs: 1 }), append, insert("u", { expiresAtMs: 2 })],
      true,
    );
    await rows.commit([{ type: "remove", id: "t" }], true);
    await rows.sweep(2, ["turn"]);
    const operator = await createClient({ socket: { path: join(folder, "redis.sock"), tls: false } }).connect();
    expect(await operator.keys("empty:*")).toEqual([]);
    operator.destroy();
    await rows.close();
  });

  test.each([
    { setting: "maxmemory", refusing: "1", says: "has no memory left" },
    { setting: "min-replicas-to-write", refusing: "1", says: "has fewer replicas than it needs to take writes" },
  ])(
    "a Redis server that refuses writes because of $setting fails as `degraded`, and is read meanwhile",
    async ({ setting, refusing, says }) => {
      const rows = await openRedisRows({ url: url(), prefix: `${setting}:` });
      await rows.commit([insert("t")], true);
      const operator = await createClient({ socket: { path: join(folder, "redis.sock"), tls: false } }).connect();
      await operator.configSet(setting, refusing);
      const refused = { code: "degraded", message: `The log's Redis server ${says}.` };
      await expect(rows.commit([append], true)).rejects.toMatchObject(refused);
      expect(await rows.get("t")).toMatchObject({ last: 0 });
      await operator.configSet(setting, "0");
      expect(await rows.commit([append], true)).toEqual({ type: "done" });
      operator.destroy();
      await rows.close();
    },
  );

  test("a Redis server that goes away makes every call fail as `degraded` at once, and is used again when it is back", async () => {
    const rows = await openRedisRows({ url: url(), prefix: "away:" });
    await rows.commit([insert("t")], true);
    await stopServer(server);
    await expect(rows.commit([append], true)).rejects.toMatchObject({ code: "degraded" });
    await expect(rows.get("t")).rejects.toMatchObject({ code: "degraded" });
    const woken = rows.changed("t", new AbortController().signal);
    server = await startServer();
    await woken; // messages were missed
    await expect.poll(() => rows.commit([insert("t")], true).catch(() => "failing")).toEqual({ type: "done" });
    const changed = rows.changed("t", new AbortController().signal);
    await rows.commit([append], true);
    await changed;
    await rows.close();
  });

  test("a Redis server that never was makes opening fail as `degraded`", async () => {
    const nowhere = `unix:${join(folder, "nothing.sock")}`;
    await expect(openRedisRows({ url: nowhere })).rejects.toMatchObject({ code: "degraded" });
  });
});

test("without the client the error names the command that installs it", () => {
  const empty = mkdtempSync(join(tmpdir(), "millrace-no-redis-"));
  onTestFinished(() => rmSync(empty, { recursive: true, force: true }));
  const missing = join(empty, "missing.mjs");
  writeFileSync(missing, 'import "redis";\n');
  const program = `
    import { openRedisRows } from ${JSON.stringify(new URL("redis.ts", import.meta.url).href)};
    const load = () => import(${JSON.stringify(pathToFileURL(missing).href)});
    const error = await openRedisRows({ url: "redis://127.0.0.1:1" }, load).catch((error) => error);
    console.log(JSON.stringify(error.toRecord()));
  `; // Node itself says that the package is not there
  const said: unknown = JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }),
  );
  expect(said).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("`redis`"),
    hint: expect.stringContaining("npm install --global redis@6"),
  });
});

test("every other failure to load the client stays what it is", async () => {
  const failure = new SyntaxError("a broken file");
  await expect(openRedisRows({ url: "redis://127.0.0.1:1" }, () => Promise.reject(failure))).rejects.toBe(failure);
});
