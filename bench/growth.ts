import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGatewayProcess } from "../test/support/gateway-process.ts";
import { costOf } from "./gateway/process-cost.ts";
import type { Growth } from "./load/answer.ts";
import { median } from "./load/figures.ts";
import type { ServerOrder, ServerReady } from "./load/server.ts";

/** How the gateway's cost grows: with the length of an answer, the readers of one turn, the dialect, and the store. */
const model = "claude-opus-4-7-medium";
const repeats = 3;

interface Figure {
  readonly cpuMs: number;
  readonly tookMs: number;
  readonly peakMiB: number;
}

type Ask = (gateway: GatewayProcess, name: string) => Promise<void>;

console.log("answer length, typed steps, Chat Completions, 100,000 characters a second");
for (const characters of [1_000, 16_000, 256_000, 2_000_000]) {
  const figure = await measure({ characters, charactersPerSecond: 100_000, firstMs: 50 }, [], chat);
  show(
    `${characters.toLocaleString("en")} characters`,
    figure,
    `${((figure.cpuMs / characters) * 1000).toFixed(1)} ms CPU per 1,000`,
  );
}

console.log("\nreaders of one turn, 2,000 characters at 1,000 a second");
const steady: Growth = { characters: 2_000, charactersPerSecond: 1_000, firstMs: 250 };
let one: Figure | undefined;
for (const readers of [1, 10, 100]) {
  const figure = await measure(steady, [], async (gateway, name) => {
    await Promise.all(Array.from({ length: readers }, () => chat(gateway, name, { "idempotency-key": name })));
  });
  one ??= figure;
  show(`${readers} readers`, figure, `x${(figure.cpuMs / one.cpuMs).toFixed(2)} of one`);
}

console.log("\ndialects, 16 answers at once");
const dialects: Readonly<Record<string, Ask>> = { "Chat Completions": chat, Responses: responses, Messages: messages };
let first: Figure | undefined;
for (const [name, ask] of Object.entries(dialects)) {
  const figure = await measure(steady, [], (gateway, round) => many(16, gateway, round, ask));
  first ??= figure;
  show(name, figure, `x${(figure.cpuMs / first.cpuMs).toFixed(2)} of Chat Completions`);
}

console.log("\nstores, 16 answers at once");
let memory: Figure | undefined;
for (const store of ["memory", "sqlite"]) {
  const figure = await measure(steady, ["--store", store], (gateway, round) => many(16, gateway, round, chat));
  memory ??= figure;
  show(store, figure, `x${(figure.cpuMs / memory.cpuMs).toFixed(2)} of memory`);
}

/** Medians of repeats over one gateway, after an answer that warms it up. */
async function measure(growth: Growth, args: readonly string[], ask: Ask): Promise<Figure> {
  const home = mkdtempSync(join(tmpdir(), "millrace-growth-"));
  const server = fork(join(import.meta.dirname, "load/server.ts"));
  try {
    const { port } = await ready(server, { growth, steps: true, protocol: "grpc" });
    const file = join(home, "server-tokens.json");
    const tokens = { csrfToken: "t".repeat(36), apiKey: `sk-ws-01-${"k".repeat(90)}` };
    writeFileSync(file, JSON.stringify(tokens), { mode: 0o600 });
    const gateway = await startGatewayProcess({
      home,
      args: ["--endpoint", `127.0.0.1:${port}`, "--token-file", file, ...args],
    });
    try {
      await ask(gateway, "warm-up");
      const figures: Figure[] = [];
      for (let round = 0; round < repeats; round++) {
        const [before, startedAt] = [costOf(gateway.pid), performance.now()];
        await ask(gateway, `round ${round}`);
        const after = costOf(gateway.pid);
        figures.push({
          cpuMs: (after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN),
          tookMs: performance.now() - startedAt,
          peakMiB: (after?.peakBytes ?? Number.NaN) / 2 ** 20,
        });
      }
      const of = (what: (figure: Figure) => number) => median(figures.map(what));
      return {
        cpuMs: of(({ cpuMs }) => cpuMs),
        tookMs: of(({ tookMs }) => tookMs),
        peakMiB: of(({ peakMiB }) => peakMiB),
      };
    } finally {
      await gateway.stop();
    }
  } finally {
    server.kill();
    rmSync(home, { recursive: true, force: true });
  }
}

async function ready(server: ChildProcess, order: ServerOrder): Promise<ServerReady> {
  const told = once(server, "message");
  server.send(order);
  const [answer] = (await told) as [ServerReady]; // its own wire
  return answer;
}

async function many(turns: number, gateway: GatewayProcess, round: string, ask: Ask): Promise<void> {
  await Promise.all(Array.from({ length: turns }, (_, turn) => ask(gateway, `${round}, turn ${turn}`)));
}

function chat(gateway: GatewayProcess, name: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const body = { model, stream: true, messages: [{ role: "user", content: name }] };
  return drain(gateway, "/v1/chat/completions", body, "[DONE]", headers);
}

function responses(gateway: GatewayProcess, name: string): Promise<void> {
  return drain(gateway, "/v1/responses", { model, stream: true, input: name }, "response.completed");
}

function messages(gateway: GatewayProcess, name: string): Promise<void> {
  const body = { model, stream: true, max_tokens: 100_000, messages: [{ role: "user", content: name }] };
  return drain(gateway, "/v1/messages", body, "message_stop");
}

/** Reads an answer to its end; throws when that does not come. */
async function drain(
  gateway: GatewayProcess,
  path: string,
  body: unknown,
  end: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!text.slice(-20_000_000).includes(end)) throw new Error(`${path}: ${response.status} ${text.slice(-300)}`);
}

function show(what: string, { cpuMs, tookMs, peakMiB }: Figure, note: string): void {
  console.log(
    `${what.padEnd(24)} CPU ${cpuMs.toFixed(0).padStart(6)} ms  took ${tookMs.toFixed(0).padStart(6)} ms  peak ${peakMiB.toFixed(0)} MiB  ${note}`,
  );
}
