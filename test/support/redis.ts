import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The server's program; `MILLRACE_TEST_REDIS=valkey-server` runs the tests with Valkey. */
export const redisProgram = process.env["MILLRACE_TEST_REDIS"] ?? "redis-server";

/** Whether a Redis server can be started here; tests that need one are skipped without it. */
export const redisInstalled = spawnSync(redisProgram, ["--version"]).status === 0;

/** A Redis server on a socket file, that can be killed and started again over the same data. */
export interface RedisProcess {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Starts a server on `redis.sock` in this folder, which keeps nothing by default. */
export async function startRedis(folder: string, kept = ["--appendonly", "no"]): Promise<ChildProcess> {
  const options = ["--port", "0", "--unixsocket", join(folder, "redis.sock"), "--dir", folder, "--save", "", ...kept];
  const child = spawn(redisProgram, options, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const chunk of child.stdout) if ((said += String(chunk)).includes("eady to accept connections")) break;
  return child;
}

export async function killRedis(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** A server for one test, gone after it. What it acknowledged is on its disk. */
export async function redisServer(): Promise<RedisProcess> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-redis-"));
  let child: ChildProcess | undefined;
  const server: RedisProcess = {
    url: `unix:${join(folder, "redis.sock")}`,
    async start() {
      child = await startRedis(folder, ["--appendonly", "yes", "--appendfsync", "always"]);
    },
    kill: () => killRedis(child),
  };
  onTestFinished(async () => {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await server.start();
  return server;
}
