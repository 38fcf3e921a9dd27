import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Spread, spread } from "./load/figures.ts";
import { type Appending, appendings } from "./log/append.ts";
import { measureSweep } from "./log/sweep.ts";

/**
 * `npm run bench log`: how many events a second each store takes while many turns write at once, sealed and not, beside a loop that
 * inserts the same rows in transactions of the same size and does nothing else. They take turns in one run, so compare the ratios. Then: how
 * long running turns wait while thousands of expired turns are removed. `--json` prints one object; `--short` takes a few seconds.
 */
const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    rounds: { type: "string" },
  },
});
const rounds = Number(options.rounds ?? (options.short ? 2 : 5));
const shape = { turns: 200, events: options.short ? 32 : 96 };
const folder = mkdtempSync(join(tmpdir(), "millrace-log-bench-"));

interface Row {
  readonly way: string;
  readonly eventsAnAppend: number;
  readonly perSecond: Spread;
  readonly cpuMicroseconds: Spread;
  /** Processor time of an event, as a multiple of the bare loop's. */
  readonly timesBare: number;
}

const rows: Row[] = [];
try {
  for (const eventsAnAppend of [1, 4, 16]) rows.push(...(await measure(eventsAnAppend)));
  const sweep = await measureSweep(join(folder, "sweep.db"), options.short ? 300 : 3_000);
  if (options.json) console.log(JSON.stringify({ bench: "log", rounds, shape, rows, sweep }));
  else {
    console.log(`\nremoval of ${sweep.turns} expired turns with ${sweep.events} events each, while 16 turns write`);
    for (const [when, figure] of Object.entries({ before: sweep.before, meanwhile: sweep.meanwhile }))
      console.log(
        `  ${when.padEnd(12)} an append p50 ${figure.appendMs.p50.toFixed(1)} p99 ${figure.appendMs.p99.toFixed(1)} ms  longest block ${figure.longestBlockMs.toFixed(0)} ms of CPU`,
      );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(eventsAnAppend: number): Promise<readonly Row[]> {
  const ways = await appendings(folder);
  try {
    const found = new Map<string, { perSecond: number; cpuMicroseconds: number }[]>();
    for (let round = 0; round <= rounds; round++)
      for (const [way, appending] of ways) {
        const figure = await appending.run({ ...shape, eventsAnAppend });
        if (round > 0) found.set(way, [...(found.get(way) ?? []), figure]); // the first one warms up
      }
    return shown([...found], eventsAnAppend);
  } finally {
    for (const [, appending] of ways) await appending.close();
  }
}

type Found = Awaited<ReturnType<Appending["run"]>>;

function shown(found: readonly (readonly [string, readonly Found[]])[], eventsAnAppend: number): readonly Row[] {
  const cpuOf = (all: readonly Found[]) => spread(all.map(({ cpuMicroseconds }) => cpuMicroseconds));
  const bare = cpuOf(found[0]?.[1] ?? []).median;
  const rows = found.map(([way, all]) => {
    const cpuMicroseconds = cpuOf(all);
    const perSecond = spread(all.map((round) => round.perSecond));
    return { way, eventsAnAppend, perSecond, cpuMicroseconds, timesBare: cpuMicroseconds.median / bare };
  });
  if (options.json) return rows;
  console.log(`\n${shape.turns} turns at once, ${eventsAnAppend} events an append`);
  for (const { way, perSecond, cpuMicroseconds, timesBare } of rows)
    console.log(
      `  ${way.padEnd(22)} ${perSecond.median.toFixed(0).padStart(7)} events a second (${perSecond.min.toFixed(0)}-${perSecond.max.toFixed(0)})  ${cpuMicroseconds.median.toFixed(1)} µs of CPU an event, x${timesBare.toFixed(1)} of bare`,
    );
  return rows;
}
