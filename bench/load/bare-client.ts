import { spawn } from "node:child_process";
import process from "node:process";
import { type Growth, type Lags, lagsOf, nowMs } from "./answer.ts";
import type { PollReport } from "./bare-poller.ts";

/** What the process is told to do, once. */
export interface AgentOrder {
  /** Starts the agent. */
  readonly command: readonly string[];
  readonly growth: Growth;
  readonly streams: number;
}

interface Message {
  readonly id?: number;
  readonly result?: { readonly sessionId?: string };
  readonly params?: { readonly sessionId: string; readonly update?: { readonly content?: { readonly text?: string } } };
}

/** The least that can follow an agent's answers: a client on its own pipes that stores nothing and serves nobody. */
async function run({ command: [program = "", ...args], growth, streams }: AgentOrder): Promise<void> {
  const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const replies = new Map<number, (result: Message["result"]) => void>();
  const grown = new Map<string, (text: string) => void>();
  let lastId = 0;
  const ask = (method: string, params: object): Promise<Message["result"]> => {
    const id = ++lastId;
    agent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => replies.set(id, resolve));
  };
  let half = "";
  agent.stdout.setEncoding("utf8").on("data", (read: string) => {
    const lines = (half + read).split("\n");
    half = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result, params } = JSON.parse(line) as Message; // the agent's wire
      if (id !== undefined) replies.get(id)?.(result);
      else grown.get(params?.sessionId ?? "")?.(params?.update?.content?.text ?? "");
    }
  });
  await ask("initialize", { protocolVersion: 1, clientCapabilities: {} });

  const follow = async (): Promise<Lags> => {
    const askedAtMs = nowMs();
    const { sessionId = "" } = (await ask("session/new", { cwd: "/", mcpServers: [] })) ?? {};
    const points: { atMs: number; length: number }[] = [];
    let text = "";
    grown.set(sessionId, (delta) => {
      text += delta;
      if (delta !== "") points.push({ atMs: nowMs(), length: text.length });
    });
    await ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "bare" }] });
    return lagsOf({ askedAtMs, points, endAtMs: nowMs() }, text.slice(0, 24), growth);
  };
  const before = process.cpuUsage();
  const lags = await Promise.all(Array.from({ length: streams }, follow));
  const { user, system } = process.cpuUsage(before);
  agent.stdin.end();
  const report: PollReport = { lags, cpuMs: (user + system) / 1000, residentBytes: process.memoryUsage.rss() };
  process.send?.(report, () => process.disconnect());
}

process.once("message", (order: AgentOrder) => void run(order));
