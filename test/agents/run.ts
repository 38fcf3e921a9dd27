import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { installPackages, manifestOf, versionOf } from "../clients/install.ts";
import { cellsOf, sectionOf, tableLines, withSections } from "../clients/table.ts";
import { type AgentOutcome, runAgent } from "./agent-run.ts";
import { check, failures } from "./check.ts";
import { claude } from "./owners/claude.ts";
import { codex } from "./owners/codex.ts";
import { gemini } from "./owners/gemini.ts";
import { opencode } from "./owners/opencode.ts";
import type { Owner } from "./owners/owner.ts";
import { qwen } from "./owners/qwen.ts";
import { news, type Recorded, readRecorded, writeRecorded } from "./recorded.ts";

/*
 * `npm test -- programs agents [-- --agent NAME] [--oldest] [--full] [--update]`: real ACP agents (published packages) that config.toml names, each in the home of
 * an owner who allowed it everything and of one who changed nothing; a local server as their model, a real gateway process in front. `--full` sends
 * every text in every way. `--oldest` takes the oldest versions that Millrace starts. `--update` writes `recorded.json` and the tables of docs/agents.md.
 */
const { values } = parseArgs({
  options: {
    agent: { type: "string", multiple: true },
    oldest: { type: "boolean" },
    full: { type: "boolean" },
    update: { type: "boolean" },
  },
});
const all = [opencode, codex, claude, gemini, qwen];
const owners = all.filter(({ name }) => values.agent === undefined || values.agent.includes(name));
assert(owners.length > 0, `The agents are ${all.map(({ name }) => name).join(", ")}.`);

const packages = await installPackages(manifest(owners));
const recorded: Recorded = readRecorded();
const outcomes = new Map<string, AgentOutcome>();

/** The manifest of all agents, or one with those that were asked for. */
function manifest(asked: readonly Owner[]): string {
  const all = join(import.meta.dirname, values.oldest === true ? "oldest/package.json" : "package.json");
  return values.agent === undefined ? all : manifestOf(all, (name) => asked.some(({ npm }) => npm === name));
}

async function tryAgent(owner: Owner): Promise<void> {
  const version = versionOf(packages, owner.npm);
  process.stderr.write(`${owner.npm} ${version}\n`);
  const program = join(packages, "node_modules/.bin", owner.bin);
  await check(`${owner.name}: its run, and nothing that is new in it`, async () => {
    const outcome = await runAgent(owner, program, version, values.full === true);
    outcomes.set(owner.name, outcome);
    const { after, ended } = outcome.clear;
    process.stderr.write(
      `        ${owner.name}: prompts in the clear while it runs: ${paths(after)}; after its end: ${paths(ended)}\n`,
    );
    if (values.update !== true) assert.deepEqual(news(recorded[owner.name], outcome.sighting), []);
  });
}

/** Two agents at a time: each waits for its processes more than it computes. */
const waiting = [...owners];
async function tryNext(): Promise<void> {
  for (let owner = waiting.shift(); owner !== undefined; owner = waiting.shift()) await tryAgent(owner);
}
await Promise.all([tryNext(), tryNext()]);
if (values.update === true) {
  writeRecorded({
    ...readRecorded(),
    ...Object.fromEntries([...outcomes].map(([name, { sighting }]) => [name, sighting])),
  });
  writeTables();
}
process.exitCode = failures() > 0 ? 1 : 0;

function paths(patterns: readonly string[]): string {
  return patterns.length === 0
    ? "nowhere"
    : patterns.map((pattern) => `\`${pattern.replace(/^(?!HOME\/)/, "~/")}\``).join(", ");
}

/** The tables of docs/agents.md. An agent that was not run keeps its row. */
function writeTables(): void {
  const file = join(import.meta.dirname, "../../docs/agents.md");
  const page = readFileSync(file, "utf8");
  const headings = Object.keys([...outcomes.values()][0]?.columns ?? {});
  const today = new Date().toISOString().slice(0, 10);
  const table = (section: string, head: readonly string[], row: (outcome: AgentOutcome) => readonly string[]) => {
    const earlier = cellsOf(sectionOf(page, section));
    const rows = all.flatMap(({ name, npm }) => {
      const outcome = outcomes.get(name);
      return outcome === undefined
        ? earlier.filter((cells) => cells[0] === npm && cells.length === head.length)
        : [[npm, ...row(outcome)]];
    });
    return tableLines(head, rows).join("\n");
  };
  const rows = table("agents", ["package", "version", "works", "date"], ({ sighting, columns }) => {
    const not = headings.filter((heading) => columns[heading] !== true);
    return [sighting.version, not.length === 0 ? "all" : `**not**: ${not.join("; ")}`, today];
  });
  const tried = `${rows}\n\nAll: ${headings.join("; ")}.`;
  const clearHead = ["package", "in the clear while the agent runs", "after its end"];
  const clear = table("prompts on the disk", clearHead, ({ clear: { after, ended } }) => [paths(after), paths(ended)]);
  writeFileSync(file, withSections(page, { agents: tried, "prompts on the disk": clear }));
}
