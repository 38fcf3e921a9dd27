import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisInstalled, redisProgram } from "../../../test/support/redis.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { encodeKey } from "../sealing/keys.ts";
import { sealedCodec } from "../sealing/sealed-codec.ts";
import { describeLogStore } from "../store.conformance.ts";
import { newTurn } from "../turn.fake.ts";
import { openRedisLog } from "./open-redis-log.ts";

let folder = "";
let server: ChildProcess | undefined;
const url = () => `unix:${join(folder, "redis.sock")}`;

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
  const shared = { survivesRestart: true, sharedBetweenProcesses: true, sharedBetweenMachines: true } as const;
  const codec = sealedCodec(encodeKey(new Uint8Array(32).fill(3)));
  describeLogStore("redis", shared, async () => {
    runs += 1;
    const prefix = `run-${runs}:`;
    return { open: (clock) => openRedisLog({ url: url(), prefix, clock, codec }), dispose: async () => {} };
  });

  test.each([
    { setting: "maxmemory", refusing: "1", says: "has no memory left" },
    { setting: "min-replicas-to-write", refusing: "1", says: "has fewer replicas than it needs to take writes" },
  ])(
    "a Redis server that refuses writes because of $setting fails as `degraded`",
    async ({ setting, refusing, says }) => {
      const clock = new FakeClock();
      const store = await openRedisLog({ url: url(), prefix: `${setting}:`, clock });
      const { writer } = await store.create(newTurn(), "o");
      const operator = await createClient({ socket: { path: join(folder, "redis.sock"), tls: false } }).connect();
      await operator.configSet(setting, refusing);
      const refused = { code: "degraded", message: `The log's Redis server ${says}.` };
      await expect(writer?.append([{ type: "text", delta: "a" }], clock.now())).rejects.toMatchObject(refused);
      await operator.configSet(setting, "0");
      expect(await writer?.append([{ type: "text", delta: "a" }], clock.now())).toBe("appended");
      operator.destroy();
      await store.close();
    },
  );

  describe("a Redis server that goes away", () => {
    test("makes every call fail as `degraded` at once, and is used again when it is back", async () => {
      const clock = new FakeClock();
      const store = await openRedisLog({ url: url(), prefix: "away:", clock });
      await store.renewOwner("a", 1);
      await stopServer(server);
      await expect(store.create(newTurn(), "o")).rejects.toMatchObject({ code: "degraded" });
      server = await startServer();
      await expect
        .poll(() =>
          store.renewOwner("b", 2).then(
            () => "well",
            () => "failing",
          ),
        )
        .toBe("well");
      const { record, writer } = await store.create(newTurn(), "o");
      const waiting = store.untilPast(record.turnId, "0" as never, AbortSignal.timeout(100_000));
      await writer?.append([{ type: "text", delta: "a" }], clock.now());
      await expect(waiting).resolves.toBeUndefined();
      await store.close();
    });

    test("or never was makes opening fail as `degraded`", async () => {
      const nowhere = `unix:${join(folder, "nothing.sock")}`;
      await expect(openRedisLog({ url: nowhere, clock: new FakeClock() })).rejects.toMatchObject({ code: "degraded" });
    });
  });
});
