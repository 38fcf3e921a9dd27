import { parseArgs } from "node:util";
import type { GatewayProcess } from "../test/support/gateway-process.ts";
import { addManyTurns } from "../test/support/many-turns.ts";
import { spread } from "./load/figures.ts";
import { model, openWorld } from "./load/gateway.ts";
import { asked } from "./load/process.ts";
import { costOf } from "./load/process-cost.ts";
import type { ReadOrder, ReadReport } from "./load/sse-reader.ts";

/**
 * What an open page costs a gateway with 200,000 turns of history: a turn's processor time, the longest hold of the event loop, the latest
 * character of a stream, and memory, in rounds with and without a page. `--json` prints one object; it fails above the bounds.
 */
const { values: options } = parseArgs({
  options: { json: { type: "boolean", default: false }, repeats: { type: "string", default: "3" } },
});

const growth = { characters: 4_000, charactersPerSecond: 1_000, firstMs: 250 };
/** Answers at once, and how often one after the other: a round takes some 18 s. */
const [streams, times] = [8, 4];
/** A page loads each part again after a turn's end, ten seconds apart (`web/src/live-turns.ts`). */
const reloadEveryMs = 10_000;
const most = { times: 1.3, holdMs: 100, growthMiB: 40 };

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
/** What the page of a month loads again after a turn's end. */
const reloaded = () => [
  `/dashboard/api/usage/turns?since=${daysAgo(30)}&limit=0`,
  `/dashboard/api/usage/turns?since=${daysAgo(30)}&limit=25`,
  "/dashboard/api/usage/turns?since=400d&outcome=failed&limit=1&totals=0",
  `/dashboard/api/usage/days?since=${daysAgo(30)}&time_zone=UTC`,
  `/v1/usage?since=${daysAgo(30)}&by=model&time_zone=UTC`,
  `/v1/usage?since=${daysAgo(30)}&by=client&time_zone=UTC`,
  "/v1/limits",
  "/dashboard/api/limits/history?since=3h",
];

const world = await openWorld(growth);
try {
  await (await world.start()).stop(); // makes the tables
  addManyTurns(world.storeFile);
  const gateway = await world.start();
  try {
    await round(gateway, "warm-up");
    const rounds = { closed: [] as Round[], open: [] as Round[] };
    for (let repeat = 0; repeat < Number(options.repeats); repeat++) {
      rounds.closed.push(await round(gateway, `closed ${repeat}`));
      const over = new AbortController();
      const page = openPage(gateway, over.signal);
      rounds.open.push(await round(gateway, `open ${repeat}`));
      over.abort();
      await page;
    }
    const of = (state: keyof typeof rounds, figure: keyof Round) => spread(rounds[state].map((one) => one[figure]));
    const figures = {
      cpuMsPerTurn: { closed: of("closed", "cpuMs"), open: of("open", "cpuMs") },
      holdMs: { closed: of("closed", "holdMs"), open: of("open", "holdMs") },
      waitMs: { closed: of("closed", "waitMs"), open: of("open", "waitMs") },
      residentMiB: { closed: of("closed", "residentMiB"), open: of("open", "residentMiB") },
      times: of("open", "cpuMs").median / of("closed", "cpuMs").median,
      growthMiB: of("open", "residentMiB").median - of("closed", "residentMiB").median,
    };
    console.log(
      JSON.stringify(options.json ? { bench: "page", ...figures } : figures, undefined, options.json ? 0 : 1),
    );
    const { times: ratio, holdMs, growthMiB } = figures;
    const held = Math.max(most.holdMs, most.times * holdMs.closed.min); // a loaded machine holds each process
    if (ratio > most.times || holdMs.open.min > held || growthMiB > most.growthMiB) process.exitCode = 1;
  } finally {
    await gateway.stop();
  }
} finally {
  world.close();
}

interface Round {
  /** Of the gateway, a turn. */
  readonly cpuMs: number;
  /** Of its event loop, by its own measure. */
  readonly holdMs: number;
  /** The latest character. */
  readonly waitMs: number;
  readonly residentMiB: number;
}

async function round(gateway: GatewayProcess, name: string): Promise<Round> {
  const before = costOf(gateway.pid)?.cpuMs ?? Number.NaN;
  const waits: number[] = [];
  const holds: number[] = [];
  for (let time = 0; time < times; time++) {
    const order: ReadOrder = { url: gateway.url, key: gateway.key, model, growth, streams, round: `${name} ${time}` };
    const { lags, failures } = await asked<ReadReport>("sse-reader.ts", order);
    if (failures[0] !== undefined) throw new Error(failures[0]);
    waits.push(...lags.flatMap(({ firstMs, deltaMs, endMs }) => [firstMs, ...deltaMs, endMs]));
    const hold = /^millrace_event_loop_lag_seconds\{quantile="1"\} (\S+)$/m.exec(await get(gateway, "/metrics"));
    holds.push(Number(hold?.[1] ?? Number.NaN) * 1_000);
  }
  const { cpuMs = Number.NaN, residentBytes = Number.NaN } = costOf(gateway.pid) ?? {};
  return {
    cpuMs: (cpuMs - before) / (streams * times),
    holdMs: Math.max(...holds),
    waitMs: Math.max(...waits),
    residentMiB: residentBytes / 2 ** 20,
  };
}

/** As a tab that is seen: the feed stays open, and the parts are loaded again. */
async function openPage(gateway: GatewayProcess, signal: AbortSignal): Promise<void> {
  const feed = get(gateway, "/dashboard/api/turns/feed", signal).catch(() => "");
  while (!signal.aborted) {
    await Promise.all(reloaded().map((path) => get(gateway, path, signal).catch(ifOpen(signal))));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, reloadEveryMs);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
  await feed;
}

/** Rethrows, where the page was not closed. */
function ifOpen(signal: AbortSignal) {
  return (error: unknown): string => {
    if (!signal.aborted) throw error;
    return "";
  };
}

async function get({ url, key }: GatewayProcess, path: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` }, signal: signal ?? null });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.text();
}
