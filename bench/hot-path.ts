import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Growth } from "./load/answer.ts";
import type { RunLines } from "./load/count-lines.ts";
import { model, openWorld } from "./load/gateway.ts";
import { asked } from "./load/process.ts";
import type { ReadOrder, ReadReport } from "./load/sse-reader.ts";

/**
 * How much code runs while an answer streams: the lines of all functions, ours and the libraries', that run in five seconds of one
 * answer of ten. `--root a,b` measures other checkouts beside this one. `--files` lists the files.
 */
const { values: options } = parseArgs({
  options: {
    root: { type: "string" },
    files: { type: "boolean", default: false },
    steps: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const growth: Growth = { characters: 2_000, charactersPerSecond: 200, firstMs: 250 };
const roots = [...(options.root?.split(",") ?? []), join(import.meta.dirname, "..")];
const folder = mkdtempSync(join(tmpdir(), "millrace-lines-"));
try {
  for (const root of roots) show(root, await measure(root));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(root: string): Promise<RunLines> {
  const world = await openWorld(growth, options.steps);
  const file = join(folder, `lines-${roots.indexOf(root)}.json`);
  try {
    const preload = pathToFileURL(join(import.meta.dirname, "load/count-lines.ts")).href;
    const env = { MILLRACE_LINES: file, NODE_OPTIONS: `--import ${preload}` };
    const gateway = await world.start([], { bin: join(root, "src/cli/bin.ts"), env });
    const read = (round: string) => {
      const order: ReadOrder = { url: gateway.url, key: gateway.key, model, growth, streams: 1, round };
      return asked<ReadReport>("sse-reader.ts", order);
    };
    await read("warm-up");
    const reading = read("measured");
    await passed(3_000);
    process.kill(gateway.pid, "SIGUSR2");
    await passed(5_000);
    process.kill(gateway.pid, "SIGUSR2");
    const { failures } = await reading;
    if (failures[0] !== undefined) throw new Error(failures[0]);
    while (!existsSync(file)) await passed(50);
    await gateway.stop();
    return JSON.parse(readFileSync(file, "utf8")) as RunLines; // written by count-lines.ts
  } finally {
    world.close();
  }
}

function show(root: string, lines: RunLines): void {
  const files = Object.entries(lines).sort((a, b) => b[1] - a[1]);
  const isOurs = ([path]: readonly [string, number]) => path.startsWith("src/");
  const sum = (some: typeof files) => some.reduce((total, [, count]) => total + count, 0);
  const [ours, others] = [files.filter(isOurs), files.filter((each) => !isOurs(each))];
  if (options.json)
    return console.log(
      JSON.stringify({ bench: "hot-path", root, ours: sum(ours), libraries: sum(others), files: lines }),
    );
  console.log(
    `${root}: ${sum(ours)} lines in ${ours.length} files of ours, ${sum(others)} in ${others.length} files of libraries`,
  );
  if (options.files) for (const [path, count] of files) console.log(String(count).padStart(6), path);
}
