import { type ChildProcess, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { killRedis, redisInstalled, startRedis } from "../../test/support/redis.ts";
import { openLog } from "./live.ts";
import { testKey } from "./memory-log.fake.ts";
import { openRedisRows } from "./redis.ts";
import { bytes, describeRows, insert } from "./rows.conformance.ts";
import type { Op } from "./rows.ts";
import { describeLogStore } from "./store.conformance.ts";

let folder = "";
let server: ChildProcess | undefined;
const url = () => `unix:${join(folder, "redis.sock")}`;
const append: Op = { type: "update", id: "t", entries: [bytes("a")] };

describe.skipIf(!redisInstalled)("with a redis-server on PATH", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-redis-"));
    server = await startRedis(folder);
  });
  afterAll(async () => {
    await killRedis(server);
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
