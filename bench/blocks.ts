import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { bundleFolder } from "../test/support/gateway-process.ts";
import { costOf } from "./gateway/process-cost.ts";
import type { Block } from "./load/count-blocks.ts";
import { median, spread } from "./load/figures.ts";
import { model, openWorld } from "./load/gateway.ts";
import { readWatched } from "./load/read-watched.ts";
import type { ReadOrder } from "./load/sse-reader.ts";

/**
 * How often, and for how long, a gateway with many streams looks at nothing else. `--bin a,b` measures other builds beside this one, in
 * turns. A block is processor time, so waiting for the processor does not count; the ones of the first round are the start and code
 * that is not compiled yet. `--profile DIR` leaves CPU profiles there, and the blocks beside them.
 */
const { values: options } = parseArgs({
  options: {
    bin: { type: "string" },
    streams: { type: "string", default: "400" },
    rounds: { type: "string", default: "2" },
    profile: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const growth = { characters: 800, charactersPerSecond: 200, firstMs: 250 };
const streams = Number(options.streams);
const limitsMs = [15, 30, 50, 80];
const folder = options.profile ?? mkdtempSync(join(tmpdir(), "millrace-blocks-"));
mkdirSync(folder, { recursive: true });
const bins = [...(options.bin?.split(",") ?? []), join(bundleFolder(), "bin.js")];

interface Run {
  readonly over: readonly number[];
  readonly longestMs: number;
  readonly healthMs: number;
  /** The median of the streams. */
  readonly setupMs: number;
  /** Of the gateway; ms. */
  readonly cpuMs: number;
  readonly failures: number;
}

const runs = new Map<string, Run[]>(bins.map((bin) => [bin, []]));
for (let round = 0; round < Number(options.rounds); round++)
  for (const bin of bins) runs.get(bin)?.push(await measure(bin, round));
if (options.profile === undefined) rmSync(folder, { recursive: true, force: true });

const rows = [...runs].map(([bin, all]) => ({
  bin: bins.length === 1 ? "this build" : bin,
  over: limitsMs.map((ms, at) => ({ ms, blocks: spread(all.map(({ over }) => over[at] ?? 0)) })),
  longestMs: spread(all.map(({ longestMs }) => longestMs)),
  healthMs: spread(all.map(({ healthMs }) => healthMs)),
  setupMs: spread(all.map(({ setupMs }) => setupMs)),
  cpuMs: spread(all.map(({ cpuMs }) => cpuMs)),
  failures: all.reduce((sum, { failures }) => sum + failures, 0),
}));
if (options.json) console.log(JSON.stringify({ bench: "blocks", streams, rows }));
else
  for (const { bin, over, longestMs, healthMs, setupMs, cpuMs, failures } of rows)
    console.log(
      `${bin}: blocks ${over.map(({ ms, blocks }) => `over ${ms} ms ${blocks.median}`).join(", ")}; longest ${longestMs.median.toFixed(0)} ms; slowest /health ${healthMs.median.toFixed(0)} ms (${healthMs.min.toFixed(0)}-${healthMs.max.toFixed(0)}); setup ${setupMs.median.toFixed(0)} ms; ${cpuMs.median.toFixed(0)} ms of CPU${failures > 0 ? `; ${failures} FAILED` : ""}`,
    );

/** One gateway: an answer that warms it up, then all streams at once, twice. */
async function measure(bin: string, round: number): Promise<Run> {
  const world = await openWorld(growth);
  const file = join(folder, `blocks-${bins.indexOf(bin)}-${round}.json`);
  try {
    const env = {
      MILLRACE_BLOCKS: file,
      NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "load/count-blocks.ts")).href}`,
    };
    const gateway = await world.start([], { bin, env, ...(options.profile && { profile: options.profile }) });
    const read = (count: number, name: string) => {
      const order: ReadOrder = { url: gateway.url, key: gateway.key, model, growth, streams: count, round: name };
      return readWatched(order);
    };
    await read(1, "warm-up");
    await read(streams, "first");
    const fromMicros = Number(process.hrtime.bigint() / 1_000n);
    const before = costOf(gateway.pid)?.cpuMs ?? Number.NaN;
    const { lags, failures, slowestHealthMs } = await read(streams, "second");
    const cpuMs = (costOf(gateway.pid)?.cpuMs ?? Number.NaN) - before;
    const toMicros = Number(process.hrtime.bigint() / 1_000n);
    await gateway.stop();
    const all = JSON.parse(readFileSync(file, "utf8")) as readonly Block[]; // written by count-blocks.ts
    const blocks = all.filter(({ endsAtMicros: at }) => at > fromMicros && at < toMicros).map(({ cpuMs }) => cpuMs);
    return {
      over: limitsMs.map((ms) => blocks.filter((cpuMs) => cpuMs > ms).length),
      longestMs: Math.max(0, ...blocks),
      healthMs: slowestHealthMs,
      setupMs: median(lags.map(({ setupMs }) => setupMs)),
      cpuMs,
      failures: failures.length,
    };
  } finally {
    world.close();
  }
}
