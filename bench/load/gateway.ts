import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGatewayProcess } from "../../test/support/gateway-process.ts";
import type { Growth } from "./answer.ts";
import type { ServerOrder, ServerReady } from "./server.ts";

export const model = "claude-opus-4-7-medium";

/** A gateway beside a load server of its own, in a home of its own. */
export interface World {
  /** Starts a gateway here; again after one was killed. */
  start(args?: readonly string[]): Promise<GatewayProcess>;
  /** Ends the server and removes the home; gateways are ended before. */
  close(): void;
}

export async function openWorld(growth: Growth): Promise<World> {
  const home = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const server = fork(join(import.meta.dirname, "server.ts"));
  const { port } = await ready(server, { growth, steps: true, protocol: "grpc" });
  const file = join(home, "server-tokens.json");
  const tokens = { csrfToken: "t".repeat(36), apiKey: `sk-ws-01-${"k".repeat(90)}` };
  writeFileSync(file, JSON.stringify(tokens), { mode: 0o600 });
  return {
    start: (args = []) =>
      startGatewayProcess({ home, args: ["--endpoint", `127.0.0.1:${port}`, "--token-file", file, ...args] }),
    close() {
      server.kill();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function ready(server: ChildProcess, order: ServerOrder): Promise<ServerReady> {
  const told = once(server, "message");
  server.send(order);
  const [answer] = (await told) as [ServerReady]; // its own wire
  return answer;
}
