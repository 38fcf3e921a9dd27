import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { openAcpAgent } from "../src/backends/acp/process/agent.ts";
import type { Prompt } from "../src/backends/backend.ts";
import { systemClock } from "../src/base/clock.ts";
import type { ModelUid } from "../src/base/ids.ts";

/** What one way of reading an agent cost. */
interface Cost {
  readonly lagsMs: readonly number[];
  /** User and system time of this process, the agent's not included; per chunk. */
  readonly cpuUs: number;
}

const agentFile = join(import.meta.dirname, "acp-agent.ts");
const rounds = 3;

/** Chunks with pauses show the lag of each; chunks without show what reading them costs. */
const paces = [
  { name: "a chunk each 5 ms", chunks: 1_000, pauseMs: 5 },
  { name: "chunks as fast as the pipe takes them", chunks: 50_000, pauseMs: 0 },
];

/** The ACP backend beside a bare client, which splits lines and parses JSON, at the same agent in the same run. */
for (const { name, chunks, pauseMs } of paces) {
  console.log(`${name}, ${chunks} chunks, best of ${rounds}`);
  const args = [agentFile, String(chunks), String(pauseMs)];
  const bare: Cost[] = [];
  const backend: Cost[] = [];
  for (let round = 0; round < rounds; round++) {
    bare.push(await measured(chunks, (onText) => readBare(args, onText)));
    backend.push(await measured(chunks, (onText) => readByBackend(args, onText)));
  }
  report("bare client", bare, bare);
  report("ACP backend", backend, bare);
}

async function measured(
  chunks: number,
  read: (onText: (text: string) => void) => Promise<() => Promise<void>>,
): Promise<Cost> {
  const lagsMs: number[] = [];
  let before: NodeJS.CpuUsage | undefined;
  const finish = await read((text) => {
    before ??= process.cpuUsage();
    const nowMs = performance.timeOrigin + performance.now();
    for (const written of text.split("\n")) if (written !== "") lagsMs.push(nowMs - Number(written));
  });
  const used = process.cpuUsage(before);
  await finish();
  if (lagsMs.length !== chunks) throw new Error(`${lagsMs.length} of ${chunks} chunks arrived`);
  return { lagsMs: lagsMs.sort((a, b) => a - b), cpuUs: (used.user + used.system) / chunks };
}

function report(name: string, costs: readonly Cost[], bare: readonly Cost[]): void {
  const at = (cost: Cost, part: number) => cost.lagsMs[Math.floor((cost.lagsMs.length - 1) * part)] ?? Number.NaN;
  const best = (of: readonly Cost[], value: (cost: Cost) => number) => Math.min(...of.map(value));
  const median = best(costs, (cost) => at(cost, 0.5));
  const high = best(costs, (cost) => at(cost, 0.99));
  const cpuUs = best(costs, (cost) => cost.cpuUs);
  const ratio = cpuUs / best(bare, (cost) => cost.cpuUs);
  console.log(
    `  ${name}: lag ${median.toFixed(2)} ms median, ${high.toFixed(2)} ms at 99 %; ${cpuUs.toFixed(1)} us of processor time a chunk, ${ratio.toFixed(2)} of the bare client's`,
  );
}

async function readBare(args: readonly string[], onText: (text: string) => void): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const send = (id: number, method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  send(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
  send(2, "session/new", { cwd: tmpdir(), mcpServers: [] });
  child.stdout.setEncoding("utf8");
  let rest = "";
  await new Promise<void>((resolve) => {
    child.stdout.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = JSON.parse(line) as {
          readonly id?: number;
          readonly result?: { readonly sessionId?: string };
          readonly params?: { readonly update: { readonly content: { readonly text: string } } };
        };
        if (message.params !== undefined) onText(message.params.update.content.text);
        else if (message.id === 2) send(3, "session/prompt", { sessionId: message.result?.sessionId, prompt: [] });
        else if (message.id === 3) resolve();
      }
    });
  });
  return async () => {
    child.stdin.end();
    await ended;
  };
}

async function readByBackend(args: readonly string[], onText: (text: string) => void): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const spec = {
    name: "paced",
    ide: "paced",
    vendor: "other" as const,
    command: process.execPath,
    args,
    environment: {},
    folder,
  };
  const agent = openAcpAgent(spec, { clock: systemClock });
  const prompt: Prompt = {
    modelUid: "paced/default" as ModelUid, // as a catalogue would give it
    modelNumber: undefined,
    instructions: "",
    text: "Go.",
    messages: [],
    images: [],
    maxOutputTokens: undefined,
    continues: undefined,
    form: "text",
  };
  const batches = agent.backend.run(prompt, { keep: false, onAlive: () => {} }, new AbortController().signal);
  for await (const batch of batches) {
    for (const event of batch) {
      if (event.type === "text") onText(event.delta);
      if (event.type === "failed") throw new Error(event.error.message);
    }
  }
  return async () => {
    await agent.close();
    await rm(folder, { recursive: true, force: true });
  };
}
