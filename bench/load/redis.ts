import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Redis server of its own on a socket in a folder of its own. */
export interface BenchRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** Undefined where Redis is not installed. Stores on the disk once a second, as `docs/guides` asks for. */
export async function startRedis(): Promise<BenchRedis | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-redis-bench-"));
  const socket = join(folder, "redis.sock");
  const durable = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
  const server = spawn("redis-server", ["--port", "0", "--unixsocket", socket, "--dir", folder, ...durable], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<void>((resolve) => server.once("close", () => resolve()));
  const missing = once(server, "error").then(() => false);
  const ready = (async () => {
    for await (const chunk of server.stdout) if (/ready to accept/i.test(String(chunk))) return true;
    return false;
  })();
  if (!(await Promise.race([ready, missing]))) {
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
  return {
    url: `unix:${socket}`,
    async stop() {
      server.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
