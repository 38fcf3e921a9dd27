import { fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGatewayProcess } from "../../test/support/gateway-process.ts";
import type { Growth } from "./answer.ts";
import { told } from "./process.ts";
import type { ServerOrder, ServerReady, ServerReport, WatchOrder, WatchReport } from "./server.ts";

export const model = "claude-opus-4-7-medium";

/** A gateway beside a load server of its own, in a home of its own. */
export interface World {
  /** Of the load server. */
  readonly port: number;
  readonly home: string;
  /** The log of the gateways that are started here. */
  readonly storeFile: string;
  /** Starts a gateway here; again after one was killed. `bin`: another build than this one. `profile`: a folder for its CPU profile. */
  start(
    args?: readonly string[],
    how?: { readonly bin?: string; readonly profile?: string; readonly env?: Readonly<Record<string, string>> },
  ): Promise<GatewayProcess>;
  /** What came over the wire so far. */
  report(): Promise<ServerReport>;
  /** What the process has used by each of the next prompts. */
  watch(order: WatchOrder): Promise<WatchReport>;
  /** Ends the server and removes the home; gateways are ended before. */
  close(): void;
}

export async function openWorld(
  growth: Growth,
  steps = true,
  protocol: ServerOrder["protocol"] = "grpc",
): Promise<World> {
  const server = fork(join(import.meta.dirname, "server.ts"));
  const { port } = await told<ServerReady>(server, { growth, steps, protocol } satisfies ServerOrder);
  const { home, start, close } = openHome();
  const file = join(home, "server-tokens.json");
  const tokens = { csrfToken: "t".repeat(36), apiKey: `sk-ws-01-${"k".repeat(90)}` };
  writeFileSync(file, JSON.stringify(tokens), { mode: 0o600 });
  return {
    port,
    home,
    storeFile: join(home, ".millrace/turns.db"),
    start: (args = [], how = {}) => start(["--endpoint", `127.0.0.1:${port}`, "--token-file", file, ...args], how),
    report: () => told<ServerReport>(server, "report"),
    watch: (order) => told<WatchReport>(server, order),
    close() {
      server.kill();
      close();
    },
  };
}

/** Starts the benchmark's agent. */
export function agentCommand(growth: Growth): readonly string[] {
  return [process.execPath, join(import.meta.dirname, "agent.ts"), JSON.stringify(growth)];
}

/** A gateway that asks the benchmark's agent, in a home of its own. */
export function openAgentWorld(growth: Growth): Pick<World, "home" | "start" | "close"> {
  const world = openHome();
  mkdirSync(join(world.home, ".millrace"), { mode: 0o700 });
  const agent = `[[agents]]\nname = "load"\ncommand = ${JSON.stringify(agentCommand(growth))}\n`;
  writeFileSync(join(world.home, ".millrace/config.toml"), agent, { mode: 0o600 });
  return world;
}

function openHome(): Pick<World, "home" | "start" | "close"> {
  const home = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  return {
    home,
    start: (args = [], { bin, profile, env = {} } = {}) =>
      startGatewayProcess({
        home,
        args,
        ...(bin === undefined ? {} : { bin }),
        env: {
          ...env,
          NODE_OPTIONS: `${env["NODE_OPTIONS"] ?? ""}${profile === undefined ? "" : ` --cpu-prof --cpu-prof-dir=${profile}`}`,
        },
      }),
    close: () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}
