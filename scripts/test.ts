import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectsOf } from "../test/suites.ts";

/**
 * `npm test [-- SUITE [NAME] [ARGUMENTS]]`. Without a suite: what takes a minute, which are the quick unit tests and the main job end to end.
 * `all` are also the slow ones, the other end-to-end tests and the model of the stream protocol; `slow` are these alone. `npm test -- PATH` runs each test file
 * whose path contains PATH, and `--watch` runs it again after each change. A run has a temporary folder of its own, which ends with it. Other arguments go to
 * the suite: an option of Vitest, or the options that a run's own file describes.
 */
const root = join(import.meta.dirname, "..");

/** Suites of tests that state one behaviour each: the projects of Vitest in each. */
const stated: Readonly<Record<string, readonly string[]>> = {
  all: ["unit", "slow", "e2e", "search"],
  slow: ["slow", "e2e", "search"],
  unit: ["unit", "slow"],
  e2e: ["e2e"],
  faults: ["faults"],
  browser: ["browser"],
  search: ["search"],
};

/** `search NAME`: everything generated, which looks for a case that breaks a promise. */
const searches: Readonly<Record<string, readonly string[]>> = {
  model: ["vitest", "run", "--project", "search"],
  crash: ["test/crash/run.ts"],
  cut: ["test/cut/run.ts"],
  power: ["test/power/run.ts"],
  shared: ["test/shared/run.ts"],
  network: ["test/connections/run.ts"],
  soak: ["test/soak/run.ts"],
  fuzz: ["test/fuzz/run.ts"],
  mutants: ["test/mutants/run.ts"],
};

/** `programs NAME`: what others wrote, driven against the gateway; and what Millrace was built into. */
const programs: Readonly<Record<string, readonly string[]>> = {
  clients: ["test/clients/run.ts"],
  "most-used": ["test/clients/most-used.ts"],
  agents: ["test/agents/run.ts"],
  vendor: ["test/vendor/run.ts"],
  "open-responses": ["test/open-responses/run.ts"],
  browser: ["vitest", "run", "--project", "browser"],
  runtimes: ["scripts/runtimes.ts"],
  windows: ["test/windows/run.ts"],
  environment: ["test/environment/run.ts"],
  "single-file": ["vitest", "run", "--project", "single-file"],
  rehearsal: ["vitest", "run", "--project", "rehearsal"],
};

/** The suites that have several runs, by the name of each run. */
export const groups: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  search: searches,
  programs,
};

/** The command that the arguments name, or the sentence that says what is wrong with them. */
export function commandFor(given: readonly string[]): readonly string[] | string {
  const [suite, ...rest] = given;
  if (suite === undefined || suite === "--watch") return vitest(["unit", "main"], given);
  if (suite.startsWith("-")) return vitest(stated["all"] ?? [], given);
  if (/[./]/.test(suite)) {
    const found = projectsOf(given);
    return found.length === 0 ? `No test file has ${suite} in its path.` : vitest(found, given);
  }
  if (suite === "axis") return ["scripts/axis.ts", ...rest];
  const asked = suite.split(",");
  const isGroup = suite in groups && rest.length > 0; // `search` alone is the project of that name
  if (!isGroup && asked.every((name) => name in stated))
    return vitest([...new Set(asked.flatMap((name) => stated[name] ?? []))], rest);
  const group = groups[suite];
  if (group === undefined)
    return `There is no suite ${suite}. The suites are: ${[...new Set([...Object.keys(stated), "axis", ...Object.keys(groups)])].join(", ")}.`;
  const [name = "", ...options] = rest;
  const command = group[name];
  if (command === undefined) return `Say which: npm test -- ${suite} ${Object.keys(group).join(" | ")}`;
  return [...command, ...options];
}

function vitest(projects: readonly string[], more: readonly string[]): readonly string[] {
  const mode = more.includes("--watch") ? "watch" : "run";
  const rest = more.filter((argument) => argument !== "--watch");
  return ["vitest", mode, ...projects.flatMap((name) => ["--project", name]), ...rest];
}

if (process.argv[1] === import.meta.filename) {
  const command = commandFor(process.argv.slice(2));
  if (typeof command === "string") {
    console.error(command);
    process.exitCode = 64;
  } else {
    // a short name: sockets stand below it, whose paths may have 103 characters
    const temporary = mkdtempSync(join(tmpdir(), "mt-"));
    const env = { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
    const run = [join(root, "scripts/run.mjs"), ...command];
    const child = spawn(process.execPath, run, { cwd: root, stdio: "inherit", env });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
    const [code] = (await once(child, "exit")) as [number | null];
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
    process.exitCode = code ?? 1;
  }
}
