import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startSimulator } from "../src/simulator/start.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { pinnedTo } from "../test/support/pinned.ts";
import type { PollOrder, PollReport } from "./gateway/bare-poller.ts";
import { type Curve, firstMs, lengthOf, meanMs, quantile, tailMs } from "./gateway/curve.ts";
import { costOf } from "./gateway/process-cost.ts";
import { ask } from "./gateway/streaming-client.ts";

/**
 * What the gateway adds to an answer: real gateway process, real simulator process, the same turns once through the gateway and
 * once through a bare poller, in the same run. A level is that many turns at once; it is repeated until there are enough.
 */
const levels = (process.env["BENCH_STREAMS"] ?? "1,16,100").split(",").map(Number);
const leastTurns = 8;
const characters = 1_000;
const pollMs = 40;
const model = "claude-opus-4-7-medium";
const directive = `[[sim: size=${characters} rate=250 chunk=10 input-ms=50 first-ms=250 thinking=0]]`;

interface Measured {
  readonly curves: readonly Curve[];
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly tookMs: number;
}

await using simulator = await startSimulator({ plan: { unlimited: true } });
const gateway = await startGatewayProcess({
  home: simulator.home,
  args: [...pinnedTo(simulator), ...process.argv.slice(2)],
});
try {
  await ask(gateway, model, `Warm up. ${directive}`);
  const idle = costOf(gateway.pid);
  console.log(`${characters} characters an answer, 10 every 40 ms; bare poller every ${pollMs} ms; times in ms`);
  console.log(`gateway at rest: ${mib(idle?.residentBytes)} MiB resident\n`);
  row("streams", "", "first p50", "first p95", "text p50", "text p95", "tail p50", "tail p95", "CPU %", "peak MiB");
  for (const streams of levels) {
    const rounds = Math.max(1, Math.ceil(leastTurns / streams));
    const bare: Measured[] = [];
    const through: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      const prompts = Array.from(
        { length: streams },
        (_, i) => `Level ${streams}, round ${round}, turn ${i}. ${directive}`,
      );
      bare.push(await pollBare(prompts.map((prompt) => `Bare. ${prompt}`)));
      through.push(await askGateway(prompts));
    }
    const [a, b] = [joined(bare), joined(through)];
    show(String(streams), "bare", a);
    show("", "gateway", b);
    const added = (of: (curve: Curve) => number, fraction: number) =>
      (quantile(b.curves.map(of), fraction) - quantile(a.curves.map(of), fraction)).toFixed(0);
    row(
      "",
      "added",
      ...[firstMs, meanMs, tailMs].flatMap((of) => [added(of, 0.5), added(of, 0.95)]),
      `x${(b.cpuMs / b.tookMs / (a.cpuMs / a.tookMs)).toFixed(1)}`,
      `x${(b.peakBytes / a.peakBytes).toFixed(1)}`,
    );
  }
} finally {
  await gateway.stop();
}

async function pollBare(prompts: readonly string[]): Promise<Measured> {
  const child = fork(join(import.meta.dirname, "gateway/bare-poller.ts"));
  const order: PollOrder = {
    port: simulator.port,
    csrfToken: simulator.csrfToken.reveal(),
    apiKey: simulator.apiKey.reveal(),
    modelUid: model,
    pollMs,
    prompts,
  };
  const report = once(child, "message");
  child.send(order);
  const [measured] = (await report) as [PollReport];
  await once(child, "exit");
  return measured;
}

async function askGateway(prompts: readonly string[]): Promise<Measured> {
  const before = costOf(gateway.pid);
  const startedAt = performance.now();
  const curves = await Promise.all(prompts.map((prompt) => ask(gateway, model, prompt)));
  const tookMs = performance.now() - startedAt;
  const after = costOf(gateway.pid);
  return {
    curves,
    cpuMs: (after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN),
    peakBytes: after?.peakBytes ?? Number.NaN,
    tookMs,
  };
}

function joined(rounds: readonly Measured[]): Measured {
  const sum = (of: (measured: Measured) => number) => rounds.reduce((total, measured) => total + of(measured), 0);
  const curves = rounds.flatMap((round) => round.curves);
  const short = curves.filter((curve) => lengthOf(curve) !== characters).length;
  if (short > 0) throw new Error(`${short} answers are not ${characters} characters long`);
  const peakBytes = Math.max(...rounds.map((round) => round.peakBytes));
  return { curves, cpuMs: sum((m) => m.cpuMs), tookMs: sum((m) => m.tookMs), peakBytes };
}

function show(streams: string, who: string, { curves, cpuMs, tookMs, peakBytes }: Measured): void {
  const cells = [firstMs, meanMs, tailMs].flatMap((of) =>
    [0.5, 0.95].map((fraction) => quantile(curves.map(of), fraction).toFixed(0)),
  );
  row(streams, who, ...cells, ((100 * cpuMs) / tookMs).toFixed(1), mib(peakBytes));
}

function mib(bytes: number | undefined): string {
  return bytes === undefined || Number.isNaN(bytes) ? "?" : (bytes / 1024 / 1024).toFixed(0);
}

function row(...cells: readonly string[]): void {
  console.log(cells.map((cell, i) => (i === 1 ? cell.padEnd(8) : cell.padStart(10))).join(" "));
}
