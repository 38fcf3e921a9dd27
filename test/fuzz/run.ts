import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { say, table } from "../support/long-suite.ts";
import { targets } from "./targets/targets.ts";
import type { FuzzOrder, FuzzReport } from "./worker.ts";

/**
 * `npm test -- search fuzz`: gives every reader of foreign input what is a few changes away from inputs that reached new code, as V8's
 * counters say. Exits 1 when a reader throws anything but a clear error, hangs, or takes memory without bound; the input is kept
 * in `test/fuzz/corpus/<target>/` and runs first from then on. `--minutes` (10) are shared by all targets, `--short` is one
 * minute (so is CI), `--only` picks targets by a part of their names, `--keep` adds inputs that reached new code to the corpus, `--seed` repeats a run.
 */
const { values: options } = parseArgs({
  options: {
    minutes: { type: "string" },
    short: { type: "boolean", default: process.env["CI"] !== undefined },
    only: { type: "string", default: "" },
    keep: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const minutes = Number(options.minutes ?? (options.short ? "1" : "10"));
const wanted = targets.filter(({ name }) => name.includes(options.only));
if (!(minutes > 0) || wanted.length === 0)
  throw new Error("Give --minutes above 0, and --only with a part of a target's name.");

/** An input that runs for so long hangs: more than a thousand times of what the slowest takes. */
const hangMs = 30_000;
const longestShown = 1 << 16;
const mostKept = 40;
const largestKept = 2_000;
const rows: string[][] = [];
for (const { name } of wanted) {
  const report = await fuzz(name);
  rows.push([
    name,
    ...[report.inputs, report.parts, report.found.length].map(String),
    report.finding === undefined ? "" : "FOUND",
  ]);
  if (report.finding !== undefined) {
    const file = keep(name, report.finding.input);
    say(`FOUND in ${name}: ${report.finding.why}\n  the input is ${file}`);
    process.exitCode = 1;
  }
  const small = report.found.filter(({ length }) => length <= largestKept);
  if (options.keep)
    for (const input of small.slice(0, Math.max(0, mostKept - corpusOf(name).length))) keep(name, input);
}
say(table(["reader", "inputs", "parts of the sources reached", "steps to new ones", "finding"], rows));
say(`seed ${options.seed}, ${minutes} min`);

function folderOf(name: string): string {
  return join(import.meta.dirname, "corpus", name.replaceAll(/\W+/g, "-"));
}

function corpusOf(name: string): readonly Uint8Array[] {
  const folder = folderOf(name);
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder).map((file) => readFileSync(join(folder, file)));
}

function keep(name: string, input: Uint8Array): string {
  const file = join(folderOf(name), createHash("sha256").update(input).digest("hex").slice(0, 12));
  writeFileSync(file, input);
  return file;
}

/** Runs one target in a thread of its own, which a hang or a full heap ends. */
function fuzz(name: string): Promise<FuzzReport> {
  const now = new SharedArrayBuffer(8 + longestShown);
  const [begun, bytes] = [new Int32Array(now, 0, 2), new Uint8Array(now, 8)];
  const order: FuzzOrder = {
    target: name,
    seed: Number(options.seed),
    forMs: (minutes * 60_000) / wanted.length,
    corpus: corpusOf(name),
    now,
  };
  const worker = new Worker(new URL("worker.ts", import.meta.url), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  return new Promise((resolve) => {
    let [before, sinceMs] = [0, performance.now()];
    const watchdog = setInterval(() => {
      if (begun[0] !== before) [before, sinceMs] = [begun[0] ?? 0, performance.now()];
      else if (begun[0] !== 0 && performance.now() - sinceMs > hangMs)
        end(`it has not ended after ${hangMs / 1_000} s`);
    }, 500);
    const end = (why: string) => {
      clearInterval(watchdog);
      const input = bytes.slice(0, begun[1]);
      void worker
        .terminate()
        .then(() => resolve({ inputs: begun[0] ?? 0, parts: 0, found: [], finding: { input, why } }));
    };
    worker.once("error", (error) => end(error.stack ?? error.message)); // also a heap that is full
    worker.once("message", (report: FuzzReport) => {
      clearInterval(watchdog);
      worker.removeAllListeners("error");
      resolve(report);
    });
  });
}
