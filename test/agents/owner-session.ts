import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { JsonLines } from "../../src/backends/acp/wire/lines.ts";
import { RpcPeer } from "../../src/backends/acp/wire/rpc-peer.ts";
import { isObject, type JsonObject } from "../../src/base/json.ts";
import type { Owner } from "./owners/owner.ts";
import type { TracedPlace } from "./place.ts";

/** How long an agent may take to end by itself, ms. */
const endMs = 5_000;

/** An agent as its owner has it in an editor, without Millrace. */
export interface OwnerSession {
  /** The names of the commands that it announced so far. */
  commands(): readonly string[];
  /** Sends a text as the whole prompt, and waits for its end. */
  prompt(text: string): Promise<void>;
  end(): Promise<void>;
}

/** Opens a session in the owner's project. `program` is the agent's own. */
export async function openOwnerSession(owner: Owner, program: string, place: TracedPlace): Promise<OwnerSession> {
  const cwd = join(place.home, "project");
  const env = { PATH: process.env["PATH"] ?? "", HOME: place.home, ...owner.set(place) };
  const child = spawn(program, owner.args, { cwd, env, stdio: ["pipe", "pipe", "ignore"], detached: true });
  const lines = new JsonLines();
  const announced = new Set<string>();
  const peer = new RpcPeer((line) => child.stdin.write(line), {
    onRequest: (method, params) => (method === "session/request_permission" ? allowed(params) : undefined),
    onNotification(_, params) {
      for (const name of commandsIn(params)) announced.add(name);
    },
  });
  child.stdout.on("data", (chunk: Buffer) => lines.feed(chunk.toString()).forEach((line) => peer.receive(line)));
  const clientInfo = { name: "editor", title: "An editor", version: "1" };
  const patience = () => AbortSignal.timeout(60_000);
  await peer.request("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo }, patience());
  const session = await peer.request("session/new", { cwd, mcpServers: [] }, patience());
  const sessionId = isObject(session) ? session["sessionId"] : undefined;
  return {
    commands: () => [...announced].sort(),
    async prompt(text) {
      await peer.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }, patience());
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.stdin.end();
      const patience = AbortSignal.timeout(endMs);
      await Promise.race([ended, sleep(endMs)]);
      while (!patience.aborted && groupRuns(child.pid)) await sleep(50); // hooks of the end may outlive the agent
      endGroup(child.pid); // some start themselves a second time
      await ended;
    },
  };
}

function groupRuns(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(-pid, 0);
  } catch {
    return false;
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // all of it has ended
  }
}

/** The names in an `available_commands_update`; none in another update. */
export function commandsIn({ update }: JsonObject): readonly string[] {
  const commands = isObject(update) ? update["availableCommands"] : undefined;
  if (!Array.isArray(commands)) return [];
  return commands.filter(isObject).flatMap(({ name, _meta: meta }) => {
    const others = isObject(meta) ? meta["altNames"] : undefined;
    return [String(name), ...(Array.isArray(others) ? others.map(String) : [])];
  });
}

function allowed({ options }: JsonObject): object {
  const allow = Array.isArray(options) ? options.filter(isObject).find(({ kind }) => kind === "allow_once") : undefined;
  return { outcome: { outcome: "selected", optionId: allow?.["optionId"] } };
}
