import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openHost } from "../../src/ide/host/open-host.ts";
import { fourApis } from "../support/four-apis.ts";
import { type GatewayProcess, millrace, startGatewayProcess } from "../support/gateway-process.ts";
import { tracing } from "./own-network.ts";

/**
 * A whole session, in a process of its own so that it can have a network of its own: for Cascade and for the agent program, a
 * gateway answers over all APIs, and the commands that look around run. Every gateway and command is watched (`--by strace` or
 * `--by preload`). Prints one line of JSON: what was dialled, as text, and the ports where the stand-in and the gateways listen.
 */
const { values } = parseArgs({ options: { by: { type: "string" }, folder: { type: "string" } } });
const { by, folder = "" } = values;
const record = join(folder, "dials");
const watched =
  by === "strace"
    ? { under: tracing(record, "-D") }
    : {
        env: { NODE_OPTIONS: `--import ${join(import.meta.dirname, "record-dials.ts")}`, MILLRACE_TEST_DIALS: record },
      };
const host = openHost({
  platform: process.platform,
  uid: process.getuid?.(),
  home: folder,
  environment: process.env,
  clock: systemClock,
});
const ports = new Set<number>();

async function listening(pid: number): Promise<void> {
  const sockets = await host.listListening(pid, AbortSignal.timeout(30_000));
  if (!sockets.ok) throw new Error(`nobody says where process ${pid} listens: ${sockets.why}`);
  for (const { port } of sockets.value) ports.add(port);
}

async function useAll(ide: Simulator, served: GatewayProcess, model: string): Promise<void> {
  for (const [name, ask] of Object.entries(fourApis)) {
    const { error } = await ask(served, `${name}: hello`, undefined, model);
    if (error !== "") throw new Error(`${name}: ${error}`);
  }
  const headers = { authorization: `Bearer ${served.key}` };
  for (const path of [
    "/",
    "/health",
    "/metrics",
    "/v1/models",
    "/v1/turns",
    "/v1/usage",
    "/v1/limits",
    "/openapi.json",
  ])
    await (await fetch(served.url + path, { headers })).arrayBuffer();
  for (const argv of [["doctor"], ["models"], ["usage"], ["doctor", "--conversations"], ["status"], ["keys"]])
    await millrace(argv, { home: ide.home, ...watched });
}

async function session(profile: "windsurf-2" | "devin-3", model: string): Promise<void> {
  await using ide = await startSimulator({ profile, turn: { rate: "instant" }, plan: { unlimited: true } });
  const served = await startGatewayProcess({ home: ide.home, ...watched });
  try {
    await listening(ide.pid);
    await listening(process.pid); // the editor's server and the desk of the agents
    await listening(served.pid); // commands ask the gateway
    await useAll(ide, served, model);
  } finally {
    await served.stop();
  }
}

await session("windsurf-2", "claude-sonnet-4.6");
await session("devin-3", "swe-1.6:slow");
const text = readdirSync(folder) // strace writes a file for each thread
  .filter((name) => name.startsWith("dials"))
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join("");
process.stdout.write(`${JSON.stringify({ ports: [...ports], text })}\n`);
