import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Stand from "../../simulator/index.ts";
import { installPacked } from "../clients/packed.ts";
import { say } from "../support/long-suite.ts";
import { judge } from "./judge.ts";
import { openToAll, type Product, runRow, whyNot } from "./place.ts";
import type { Row } from "./row.ts";
import { rows } from "./rows.ts";

/*
 * `npm test -- programs environment [EXPRESSION]`: the packed product in environments that are not this machine's, each in a network, processes
 * and mounts of its own. The regular expression picks rows by their names. Linux only.
 */
const [word = ""] = process.argv.slice(2);
const counts = { passed: 0, failed: 0, skipped: 0 };

async function tryRow(name: string, row: Row, product: Product): Promise<void> {
  const missing =
    row.runtime?.startsWith("$") === false &&
    !existsSync(join(import.meta.dirname, "../../scripts/runtimes", row.runtime));
  const why = missing ? "`npm test -- programs runtimes` installs it" : whyNot(row);
  if (why !== undefined) {
    counts.skipped++;
    return say(`skipped ${name}: ${why}`);
  }
  const started = performance.now();
  const faults = judge(row, await runRow(row, product));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  counts[faults.length === 0 ? "passed" : "failed"]++;
  say(faults.length === 0 ? `ok      ${name} (${seconds} s)` : `FAILED  ${name} (${seconds} s)\n${faults.join("\n")}`);
}

async function main(): Promise<void> {
  if (process.platform !== "linux")
    return say("The environments are made on Linux only.\n\n0 passed, 0 failed, 1 skipped");
  const { folder } = installPacked();
  openToAll(folder);
  const dist = join(folder, "node_modules/millrace/dist/node");
  const home = mkdtempSync(join(tmpdir(), "stand-in-"));
  openToAll(home);
  const { startSimulator } = (await import(pathToFileURL(join(dist, "simulator.js")).href)) as typeof Stand;
  const turn = { text: "Good day from the agent.", rate: "instant" } as const;
  const ide = await startSimulator({ profile: "devin-cli", home, turn });
  await ide.stop(); // its agent goes on without it
  const settings = join(home, ".millrace-simulator/agent.json");
  for (const path of [settings, dirname(settings)]) chmodSync(path, 0o755); // also for the agents of other users
  const key = `WINDSURF_API_KEY=${ide.apiKey.reveal()}`; // the rows have homes of their own, in which nobody is signed in
  const words = [
    "/usr/bin/env",
    key,
    process.execPath,
    "--no-warnings",
    join(dist, "simulated-agent.js"),
    settings,
    "acp",
  ];
  const product = { bin: join(dist, "bin.js"), agent: words.map((each) => `"${each}"`).join(" ") };
  const waiting = Object.entries(rows).filter(([name]) => new RegExp(word).test(name));
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await tryRow(...next, product);
  };
  await Promise.all([worker(), worker()]);
  rmSync(home, { recursive: true, force: true });
  say(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  if (counts.failed > 0) process.exitCode = 1;
}

await main();
