import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type * as Stand from "../../simulator/index.ts";
import { installPacked } from "../clients/packed.ts";
import { together, withSections } from "../clients/table.ts";
import { buildOf } from "../single-file/built.ts";
import { say } from "../support/long-suite.ts";
import { judge } from "./judge.ts";
import { openToAll, type Product, runRow, whyNot } from "./place.ts";
import type { Row } from "./row.ts";
import { rows } from "./rows.ts";

/*
 * `npm test -- programs environment [EXPRESSION] [--update]`: the packed product in environments that are not this machine's, each in a network,
 * processes and mounts of its own. The regular expression picks rows by their names. The rows of docs/platforms.md run as a program in one file too;
 * `--update` writes the list there. Linux only.
 */
const { values, positionals } = parseArgs({ options: { update: { type: "boolean" } }, allowPositionals: true });
const counts = { passed: 0, failed: 0, skipped: 0 };

/** What is wrong with a row, said as it is found; undefined where this machine cannot make it. */
async function tryRow(name: string, row: Row, product: Product): Promise<Faults | undefined> {
  const missing =
    row.runtime?.startsWith("$") === false &&
    !existsSync(join(import.meta.dirname, "../../scripts/runtimes", row.runtime));
  const why = missing ? "`npm test -- programs runtimes` installs it" : whyNot(row);
  if (why !== undefined) {
    counts.skipped++;
    say(`skipped ${name}: ${why}`);
    return;
  }
  const started = performance.now();
  const faults = judge(row, await runRow(row, product));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  counts[faults.size === 0 ? "passed" : "failed"]++;
  const lines = [...faults].map(([step, fault]) => `\n  ${step}: ${fault}`);
  say(`${faults.size === 0 ? "ok     " : "FAILED "} ${name} (${seconds} s)${lines.join("")}`);
  return faults;
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
  const agent = words.map((each) => `"${each}"`).join(" ");
  const npm = { bin: join(dist, "bin.js"), isAlone: false, agent };
  const [bin, next] = [await buildOf("0123abcd", home), dirname(await buildOf("2222bbbb", home))];
  const file = { bin, isAlone: true, next, agent };
  for (const each of [dirname(bin), next]) openToAll(each);
  const wanted = new RegExp(positionals[0] ?? "");
  const waiting = Object.entries(rows).flatMap(([name, row]) => {
    const ways = row.shown !== undefined && row.runtime === undefined ? { npm, file } : { npm };
    return Object.entries(ways)
      .map(([way, product]) => ({ name: way === "npm" ? name : `${name}, in one file`, row, way, product }))
      .filter((each) => wanted.test(each.name));
  });
  const held: Held[] = [];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { name, row, way, product } = next;
      const faults = await tryRow(name, row, product);
      if (row.shown !== undefined) held.push({ environment: row.shown, way, faults });
    }
  };
  await Promise.all([worker(), worker()]);
  rmSync(home, { recursive: true, force: true });
  if (values.update === true) writeList(held);
  say(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  if (counts.failed > 0) process.exitCode = 1;
}

type Faults = ReturnType<typeof judge>;
/** What a row of the table came to in one way to install. */
interface Held {
  readonly environment: string;
  readonly way: string;
  readonly faults: Faults | undefined;
}

/** The list of docs/platforms.md: which steps hold in which environments, in each way that was tried. */
function writeList(held: readonly Held[]): void {
  const shown = Object.values(rows).filter(({ shown }) => shown !== undefined);
  const said = shown.map(({ shown: environment = "", cannot = {} }) => {
    const ways = held.filter((each) => each.environment === environment);
    const broken = new Set(ways.flatMap(({ faults = new Map<string, string>([["all", ""]]) }) => [...faults.keys()]));
    const not = [...broken, ...Object.keys(cannot).map((step) => `${step} (it says why)`)];
    const tried = ["npm", "file"].filter((way) => ways.some((each) => each.way === way && each.faults !== undefined));
    return [`all${not.length === 0 ? "" : ` but ${not.join(", ")}`}, as ${tried.join(" and ")}`, environment] as const;
  });
  const page = join(import.meta.dirname, "../../docs/platforms.md");
  const list = together(said).map(([holds, where]) => `- ${holds}: ${where.join(", ")}`);
  writeFileSync(page, withSections(readFileSync(page, "utf8"), { environments: list.join("\n") }));
}

await main();
