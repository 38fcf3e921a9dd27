import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Growth } from "./load/answer.ts";
import type { PromiseCounts } from "./load/count-promises.ts";
import { model, openWorld } from "./load/gateway.ts";
import { asked } from "./load/process.ts";
import type { ReadOrder, ReadReport } from "./load/sse-reader.ts";

/**
 * How many promises a poll makes: one without news, and one whose news goes on to a client. Five seconds of one answer that grows are
 * counted, and five of one that does not. `--root a,b` measures other checkouts beside this one. `--lines` lists where they are made.
 */
const { values: options } = parseArgs({
  options: {
    root: { type: "string" },
    lines: { type: "boolean", default: false },
    steps: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const growing: Growth = { characters: 2_000, charactersPerSecond: 200, firstMs: 250 };
const silent: Growth = { characters: 100, charactersPerSecond: 200, firstMs: 10_000 };
const roots = [...(options.root?.split(",") ?? []), join(import.meta.dirname, "..")];
const folder = mkdtempSync(join(tmpdir(), "millrace-promises-"));
try {
  for (const root of roots) {
    const [news, none] = [await measure(root, growing), await measure(root, silent)];
    show(root, news, none);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

interface Count {
  readonly polls: number;
  readonly promises: PromiseCounts;
}

async function measure(root: string, growth: Growth): Promise<Count> {
  const world = await openWorld(growth, options.steps);
  const file = join(folder, "counts.json");
  rmSync(file, { force: true });
  try {
    const preload = pathToFileURL(join(import.meta.dirname, "load/count-promises.ts")).href;
    const env = { MILLRACE_PROMISES: file, NODE_OPTIONS: `--import ${preload}` };
    const gateway = await world.start([], { bin: join(root, "src/cli/bin.ts"), env });
    const order: ReadOrder = { url: gateway.url, key: gateway.key, model, growth, streams: 1, round: "measured" };
    const reading = asked<ReadReport>("sse-reader.ts", order);
    await passed(3_000);
    process.kill(gateway.pid, "SIGUSR2");
    const before = await world.report();
    await passed(5_000);
    process.kill(gateway.pid, "SIGUSR2");
    const after = await world.report();
    const { failures } = await reading;
    if (failures[0] !== undefined) throw new Error(failures[0]);
    while (!existsSync(file)) await passed(50);
    await gateway.stop();
    const promises = JSON.parse(readFileSync(file, "utf8")) as PromiseCounts; // written by count-promises.ts
    return { polls: after.polls - before.polls, promises };
  } finally {
    world.close();
  }
}

function show(root: string, news: Count, none: Count): void {
  const perPoll = ({ polls, promises }: Count) => Object.values(promises).reduce((sum, one) => sum + one, 0) / polls;
  const [withNews, without] = [perPoll(news), perPoll(none)];
  if (options.json) return console.log(JSON.stringify({ bench: "hot-path", root, withNews, without, news, none }));
  console.log(
    `${root}: ${without.toFixed(1)} promises for a poll without news, ${(withNews - without).toFixed(1)} more from news to the client`,
  );
  if (!options.lines) return;
  for (const [name, { polls, promises }] of Object.entries({ news, none })) {
    console.log(`${name}, ${polls} polls:`);
    for (const [place, count] of Object.entries(promises).sort((a, b) => b[1] - a[1]))
      if (count / polls >= 0.05) console.log((count / polls).toFixed(2).padStart(8), place);
  }
}
