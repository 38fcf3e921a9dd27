import { setTimeout as sleep } from "node:timers/promises";
import type { GatewayProcess } from "../../test/support/gateway-process.ts";
import { type Spread, spread } from "./figures.ts";
import { fillLog } from "./fill-log.ts";
import { model, openWorld, type World } from "./gateway.ts";
import { asked } from "./process.ts";
import { costOf } from "./process-cost.ts";
import type { ReadOrder, ReadReport } from "./sse-reader.ts";

/** An answer long enough to see each second of those that ask for lists. */
const growth = { characters: 8_000, charactersPerSecond: 1_000, firstMs: 50 };
/** A coding agent has so many turns in two hours. */
const filling = { turns: 1_000, historyBytes: 500_000, events: 40 };
/** What people and programs ask for while an answer runs; the feed stays open. */
const lists = [
  "/v1/turns?limit=1000",
  "/v1/turns?open=true",
  "/dashboard/api/usage/turns",
  "/dashboard/api/usage/days",
  "/v1/usage",
  "/metrics",
];
const feed = "/dashboard/api/turns/feed";
/** A start reads the log for a moment after it answers. */
const settledMs = 3_000;

export interface LongHistoriesRow {
  readonly name: string;
  /** From the start of the process to the answer of its first `/health`; ms. */
  readonly healthMs: Spread;
  /** Most memory of the process until some seconds after that; MiB. */
  readonly peakMiB: Spread;
  /** The latest character of another client's stream: while nobody asks for lists, and while they are asked for all the time; ms. */
  readonly waitMs: { readonly alone: number; readonly asked: number };
}

/** A gateway with an empty log beside one with 1,000 turns of 500 KB each. */
export async function measureLongHistories(repeats: number): Promise<readonly LongHistoriesRow[]> {
  const worlds = [
    { name: "empty log", world: await openWorld(growth) },
    { name: "1,000 turns of 500 KB", world: await openWorld(growth) },
  ] as const;
  try {
    for (const { world } of worlds) await start(world, 0); // makes the folder and the key of the log
    await fillLog(worlds[1].world.storeFile, filling);
    const starts = worlds.map(() => [] as Start[]);
    for (let round = 0; round < repeats; round++)
      for (const [place, { world }] of worlds.entries()) starts[place]?.push(await start(world, settledMs));
    const rows: LongHistoriesRow[] = [];
    for (const [place, { name, world }] of worlds.entries()) {
      const seen = starts[place] ?? [];
      const healthMs = spread(seen.map((one) => one.healthMs));
      const peakMiB = spread(seen.map((one) => one.peakMiB));
      rows.push({ name, healthMs, peakMiB, waitMs: await longestWaits(world) });
    }
    return rows;
  } finally {
    for (const { world } of worlds) world.close();
  }
}

interface Start {
  readonly healthMs: number;
  readonly peakMiB: number;
}

async function start(world: World, settleMs: number): Promise<Start> {
  const startedAt = performance.now();
  const gateway = await world.start();
  try {
    await get(gateway, "/health", new AbortController().signal);
    const healthMs = performance.now() - startedAt;
    await sleep(settleMs);
    return { healthMs, peakMiB: (costOf(gateway.pid)?.peakBytes ?? Number.NaN) / 2 ** 20 };
  } finally {
    await gateway.stop();
  }
}

async function longestWaits(world: World): Promise<LongHistoriesRow["waitMs"]> {
  const gateway = await world.start();
  try {
    await longestWait(gateway, "warm-up");
    const alone = await longestWait(gateway, "alone");
    const over = new AbortController();
    const askers = [...lists, feed].map((path) => askAllTheTime(gateway, path, over.signal));
    const asked = await longestWait(gateway, "asked");
    over.abort();
    await Promise.all(askers);
    return { alone, asked };
  } finally {
    await gateway.stop();
  }
}

/** The answer is read in a process of its own, so that only the gateway can make it wait. */
async function longestWait(gateway: GatewayProcess, round: string): Promise<number> {
  const order: ReadOrder = { url: gateway.url, key: gateway.key, model, growth, streams: 1, round };
  const { lags, failures } = await asked<ReadReport>("sse-reader.ts", order);
  if (failures[0] !== undefined) throw new Error(failures[0]);
  return Math.max(...lags.flatMap(({ firstMs, deltaMs, endMs }) => [firstMs, ...deltaMs, endMs]));
}

async function askAllTheTime(gateway: GatewayProcess, path: string, over: AbortSignal): Promise<void> {
  while (!over.aborted) await get(gateway, path, over);
}

async function get({ url, key }: GatewayProcess, path: string, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` }, signal });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    for await (const _ of response.body ?? []) {
      // read to its end, or until nobody asks any more
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
