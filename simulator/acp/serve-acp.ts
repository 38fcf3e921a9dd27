import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { systemClock } from "../../src/base/clock.ts";
import { dataFolder, hasKey } from "./access.ts";
import { DevinAgent } from "./agent.ts";
import { DeskLink } from "./desk/desk-link.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";
import { JsonRpc } from "./json-rpc.ts";

/** Speaks ACP on standard input and output until the client closes its end. */
export async function serveAcp(
  settings: AgentSettings,
  args: readonly string[],
  flags: ReadonlyMap<string, string>,
): Promise<void> {
  const folder = dataFolder(settings, process.env);
  writeLog(folder);
  const rpc = new JsonRpc((line) => process.stdout.write(line));
  const desk = new DeskLink(settings, () => agent.release());
  const agent = new DevinAgent({
    settings,
    desk,
    rpc,
    clock: systemClock,
    pid: process.pid,
    newId: randomUUID,
    agentType: flags.get("--agent-type") ?? "default",
    model: flags.get("--model") ?? process.env["DEVIN_MODEL"],
    async openStore() {
      const { SessionStore } = await import("./session-store.ts");
      return new SessionStore(join(folder, "cli", "sessions.db"));
    },
    access: {
      signedIn: () => hasKey(settings, process.env),
      hostMustAuthenticate: process.env["ACP_BACKEND"] === "windsurf",
    },
    crash,
  });
  process.stdout.on("error", () => process.exit(1)); // the reader is gone
  await desk.open(args);
  rpc.serve(
    process.stdin,
    (method, params) => agent.handle(method, params),
    () => {
      void agent.close().finally(() => process.exit(0));
    },
  );
}

/** Dies as with `kill -9`, after the written output has gone out. */
async function crash(): Promise<never> {
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.kill(process.pid, "SIGKILL");
  return await new Promise(() => {});
}

/** The real program keeps a log for each process. */
function writeLog(folder: string): void {
  const logs = join(folder, "cli", "logs");
  mkdirSync(logs, { recursive: true });
  const time = new Date(systemClock.now()).toISOString().replaceAll(/[-:]|\.\d+Z$/g, "");
  writeFileSync(join(logs, `devin_${time}_${process.pid}.log`), "devin acp started\n");
}
