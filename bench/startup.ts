import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleFolder } from "../test/support/gateway-process.ts";

/**
 * How long a process of Millrace takes to start, against a bare `node -e 0` of the same run: the runs are interleaved, and
 * what counts is the ratio of the medians. Exits 1 where a ratio is far off. `--json` prints one object; `--runs 20`;
 * `--bin` names another built program, such as one of an earlier version, to measure beside this one.
 */
const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "12" },
    json: { type: "boolean", default: false },
    bin: { type: "string", multiple: true, default: [] },
  },
});
const runs = Number(values.runs);
const home = mkdtempSync(join(tmpdir(), "millrace-startup-"));
const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  TMPDIR: process.env["TMPDIR"] ?? "/tmp",
  MILLRACE_IDE_ONLY_HOME: home,
};

/** A start that is measured, ms: until the process ends, or until it answers its first request. */
interface Case {
  readonly name: string;
  readonly start: () => Promise<number>;
  /** How many times as long as bare Node it may take at most; undefined: it is only shown. */
  readonly mostTimes: number | undefined;
}

const bare: Case = { name: "node -e 0", start: () => toTheEnd(["-e", "0"]), mostTimes: undefined };
const bundle = join(bundleFolder(), "bin.js");
const cases = [bare, ...casesOf(bundle, "", true), ...values.bin.flatMap((bin) => casesOf(bin, `${bin} `, false))];
try {
  const took = new Map(cases.map(({ name }) => [name, [] as number[]]));
  for (const { start } of cases) await start(); // compiled code is kept, files are in memory
  for (let run = 0; run < runs; run++) {
    for (const { name, start } of cases) took.get(name)?.push(await start());
  }
  const bareMs = median(took.get(bare.name) ?? []);
  const rows = cases.map(({ name, mostTimes }) => {
    const sorted = (took.get(name) ?? []).toSorted((a, b) => a - b);
    const medianMs = median(sorted);
    const [fastestMs, slowestMs] = [sorted[0], sorted.at(-1)];
    return { name, medianMs, fastestMs, slowestMs, moreMs: medianMs - bareMs, times: medianMs / bareMs, mostTimes };
  });
  if (values.json) console.log(JSON.stringify({ bench: "startup", node: process.version, runs, rows }));
  else for (const row of rows) console.log(spell(row));
  for (const { name, times, mostTimes } of rows) {
    if (mostTimes === undefined || times <= mostTimes) continue;
    console.error(`${name} takes ${times.toFixed(1)} times as long as Node alone; at most ${mostTimes} are meant`);
    process.exitCode = 1;
  }
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}

/** What is measured of one built program; only our own has limits. */
function casesOf(bin: string, label: string, limited: boolean): readonly Case[] {
  const command = (args: readonly string[], mostTimes?: number): Case => ({
    name: label + args.join(" "),
    start: () => toTheEnd([bin, ...args]),
    mostTimes: limited ? mostTimes : undefined,
  });
  return [
    command(["--version"], 5),
    command(["--help"], 5),
    command(["keys"], 5),
    command(["statusline"], 5),
    command(["usage", "--help"]),
    command(["serve", "--help"]),
    { name: `${label}serve, first /health`, start: () => untilHealthy(bin), mostTimes: limited ? 20 : undefined },
  ];
}

/** Runs a program to its end. */
async function toTheEnd(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...args], { stdio: "ignore", env });
  await once(child, "exit");
  return performance.now() - startedAt;
}

/** Starts a gateway, and stops it once it answered `/health`. */
async function untilHealthy(bin: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [bin, "serve", "--port", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
    env,
  });
  const ended = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { readonly url: string }; // as `serve --json` prints it
  const { status } = await fetch(`${url}/health`);
  const tookMs = performance.now() - startedAt;
  child.kill("SIGTERM");
  await ended;
  if (status !== 200) throw new Error(`/health answered ${status}`);
  return tookMs;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? Number.NaN) + (sorted[sorted.length >> 1] ?? Number.NaN)) / 2;
}

function spell(row: { readonly [K in "medianMs" | "moreMs" | "times"]: number } & { readonly name: string }): string {
  const more = `+${row.moreMs.toFixed(0)} ms`.padStart(9);
  return `${row.medianMs.toFixed(0).padStart(6)} ms ${more}  x${row.times.toFixed(1).padEnd(5)} ${row.name}`;
}
