import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { part, say, table } from "../support/long-suite.ts";
import { applied } from "./apply.ts";
import { type Mutant, mutants } from "./mutants.ts";

/**
 * Checks the checks: breaks each promise on purpose, in a copy of the sources, and sees that a test fails.
 * `MUTANTS_PART=1/4` for a part, `MUTANTS_ONLY="G8|limit"` for those whose name fits the pattern.
 */
const root = join(import.meta.dirname, "../..");
const copied = [
  "src",
  "simulator",
  "test",
  "proto",
  "scripts",
  "docs",
  "web",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];
/** A mutant can make tests wait for ever: that is noticed too. */
const mostMs = 5 * 60_000;
const only = new RegExp(process.env["MUTANTS_ONLY"] ?? "");
const wanted = part(mutants, process.env["MUTANTS_PART"]).filter(({ name }) => only.test(name));

const copy = await mkdtemp(join(tmpdir(), "millrace-mutants-"));
try {
  for (const name of copied) await cp(join(root, name), join(copy, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  const rows: string[][] = [];
  let survived = 0;
  for (const mutant of wanted) {
    const caughtBy = await caught(mutant);
    if (caughtBy === undefined) survived++;
    say(`${mutant.name}: ${caughtBy ?? "SURVIVED"}`);
    rows.push([mutant.name, caughtBy ?? "**nothing**"]);
  }
  say(`\n${table(["broken on purpose", "caught by"], rows)}\n\n${wanted.length} mutants, ${survived} survived`);
  process.exitCode = survived === 0 ? 0 : 1;
} finally {
  await rm(copy, { recursive: true, force: true });
}

/** The first test that fails with the mutant; undefined when none does. Throws when the mutant's code does not stand once in its function. */
async function caught({ file, becomes, tests, ...place }: Mutant): Promise<string | undefined> {
  const path = join(copy, file);
  const source = await readFile(path, "utf8");
  await writeFile(path, applied(source, place, becomes));
  try {
    const vitest = join(copy, "node_modules/vitest/vitest.mjs");
    const report = join(copy, "report.json");
    await rm(report, { force: true });
    const how = ["run", "--bail", "1", "--reporter", "json", `--outputFile=${report}`, "--testTimeout", "60000"];
    const child = spawn(process.execPath, [vitest, ...how, ...tests], { cwd: copy, stdio: "ignore", detached: true });
    const stop = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), mostMs);
    await once(child, "close");
    clearTimeout(stop);
    if (child.signalCode !== null) return "a run that does not end";
    return failedIn(await readFile(report, "utf8"));
  } finally {
    await writeFile(path, source);
  }
}

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

function failedIn(written: string): string | undefined {
  const { testResults } = JSON.parse(written) as Results; // vitest's own report
  if (testResults.length === 0) throw new Error("no test was run");
  for (const { name, message, assertionResults } of testResults) {
    const failed = assertionResults.find(({ status }) => status === "failed");
    const file = name.slice(copy.length + 1);
    if (failed !== undefined) return `\`${file}\` ${failed.title}`;
    if (message !== "") throw new Error(`${file} could not be run: ${message}`);
  }
  return undefined;
}
