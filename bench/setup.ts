import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleFolder, type GatewayProcess } from "../test/support/gateway-process.ts";
import type { Growth } from "./load/answer.ts";
import type { PollOrder, PollReport } from "./load/bare-poller.ts";
import { median, spread } from "./load/figures.ts";
import { model, openWorld, type World } from "./load/gateway.ts";
import { asked } from "./load/process.ts";
import { costOf } from "./load/process-cost.ts";
import { quantile } from "./load/quantile.ts";
import { readWatched } from "./load/read-watched.ts";
import type { ReadOrder } from "./load/sse-reader.ts";

/**
 * From a request to the prompt that the server accepted, beside a bare client: one request after another in one process, and many at
 * once. A gateway's first burst runs code that was not compiled yet, so the first and the later ones are told apart. `--bin a,b`
 * measures other builds beside this one, in turns; `--profile DIR` leaves a CPU profile of each gateway there.
 */
const { values: options } = parseArgs({
  options: {
    bin: { type: "string" },
    streams: { type: "string", default: "1,16,64,200" },
    rounds: { type: "string", default: "6" },
    profile: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

/** Too short to poll for long: what is measured is over when it begins. */
const growth: Growth = { characters: 40, charactersPerSecond: 200, firstMs: 600 };
const inTurn = 12;

interface Side {
  readonly name: string;
  readonly world: World;
  readonly gateway: GatewayProcess;
}

interface Round {
  readonly setupMs: readonly number[];
  readonly endMs: readonly number[];
  /** What the gateway had used when each prompt was accepted: where it never waits, this is `setupMs` on a quiet machine. */
  readonly promptCpuMs: readonly number[];
  /** Of a whole turn. */
  readonly cpuMs: number;
  readonly callsPerTurn: number;
  readonly slowestHealthMs: number;
}

const profiled = options.profile === undefined ? {} : { profile: options.profile };
const sides: Side[] = [];
try {
  const bins = [...(options.bin?.split(",") ?? []), join(bundleFolder(), "bin.js")];
  for (const bin of bins) {
    const world = await openWorld(growth, false);
    sides.push({
      name: bins.length === 1 ? "gateway" : bin,
      world,
      gateway: await world.start([], { bin, ...profiled }),
    });
  }
  for (const side of sides) await ask(side, 1, false, "warm-up");
  for (const streams of options.streams.split(",").map(Number)) await level(streams);
} finally {
  for (const { gateway, world } of sides) {
    await gateway.stop();
    world.close();
  }
}

async function level(streams: number): Promise<void> {
  const bare: number[] = [];
  const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < Number(options.rounds); round++) {
    bare.push(...(await askBare(streams)));
    for (const side of sides) rounds.get(side)?.push(await ask(side, streams, streams === 1, `${streams} ${round}`));
  }
  show(streams, "bare", { setupMs: pair(bare) });
  for (const [{ name }, all] of rounds) {
    const later = all.slice(1);
    show(streams, name, {
      firstSetupMs: pair(all[0]?.setupMs ?? []),
      setupMs: pair(later.flatMap(({ setupMs }) => setupMs)),
      endMs: pair(later.flatMap(({ endMs }) => endMs)),
      promptCpuMs: {
        p50: median(later.map((round) => quantile(round.promptCpuMs, 0.5))),
        p95: median(later.map((round) => quantile(round.promptCpuMs, 0.95))),
      },
      cpuMs: spread(later.map((round) => round.cpuMs)),
      callsPerTurn: median(later.map(({ callsPerTurn }) => callsPerTurn)),
      slowestHealthMs: Math.max(...later.map(({ slowestHealthMs }) => slowestHealthMs)),
    });
  }
}

async function ask({ world, gateway }: Side, streams: number, isInTurn: boolean, round: string): Promise<Round> {
  const turns = isInTurn ? inTurn : streams;
  const [before, seen] = [costOf(gateway.pid), await world.report()];
  const order: ReadOrder = {
    url: gateway.url,
    key: gateway.key,
    model,
    growth,
    streams: turns,
    inTurn: isInTurn,
    round,
  };
  const watched = world.watch({ prompts: turns, pid: gateway.pid });
  const { lags, failures, slowestHealthMs } = await readWatched(order);
  if (failures[0] !== undefined) throw new Error(`${failures.length} answers failed: ${failures[0]}`);
  const [after, told] = [costOf(gateway.pid), await world.report()];
  const counted = isInTurn ? lags.slice(1) : lags; // the first request of a client opens its connection
  return {
    setupMs: counted.map(({ setupMs }) => setupMs),
    endMs: counted.map(({ endMs }) => endMs),
    promptCpuMs: (await watched).cpuMs,
    cpuMs: ((after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN)) / turns,
    callsPerTurn: (told.otherCalls - seen.otherCalls) / turns,
    slowestHealthMs,
  };
}

async function askBare(streams: number): Promise<readonly number[]> {
  const port = sides[0]?.world.port ?? 0;
  const isInTurn = streams === 1;
  const order: PollOrder = { port, growth, pollMs: 50, streams: isInTurn ? inTurn : streams, inTurn: isInTurn };
  const { lags } = await asked<PollReport>("bare-poller.ts", order);
  return (isInTurn ? lags.slice(1) : lags).map(({ setupMs }) => setupMs);
}

function pair(values: readonly number[]) {
  return { p50: quantile(values, 0.5), p95: quantile(values, 0.95) };
}

function show(streams: number, who: string, figures: Readonly<Record<string, unknown>>): void {
  if (options.json) return console.log(JSON.stringify({ streams, who, ...figures }));
  const texts = Object.entries(figures).map(([name, value]) => `${name} ${textOf(value)}`);
  console.log([String(streams).padStart(4), who.slice(-60), ...texts].join("  "));
}

function textOf(value: unknown): string {
  if (typeof value === "number") return value.toFixed(1);
  return Object.values(value as Record<string, number>) // as `pair` and `spread` made it
    .map((number) => number.toFixed(1))
    .join("/");
}
