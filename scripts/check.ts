import { execFile } from "node:child_process";
import { join } from "node:path";

/**
 * What must hold before a change lands, in the names CI uses. `npm run check` runs the usual ones and the quick tests;
 * `npm run check -- lint types` runs what is named.
 */
type Steps = Readonly<Record<string, readonly (readonly string[])[]>>;
/** Compiles a project; what did not change since the last time is not compiled again. */
const compiled = (project: string, index: number) => {
  const known = `node_modules/.cache/millrace-types/${index}.tsbuildinfo`;
  return ["tsc", "-p", project, "--incremental", "--tsBuildInfoFile", known];
};
/** Two lanes run side by side; in each a step follows the one before it: what is packed was built. */
const lanes: readonly Steps[] = [
  {
    types: [".", "tsconfig.neutral.json", "web"].map(compiled),
    layers: [["scripts/layers/check.ts"]],
    knip: [["knip"]],
    test: [["scripts/test.ts"]],
  },
  {
    format: [["biome", "check", "--diagnostic-level=error", "."]],
    lint: [["oxlint", "--deny-warnings"]],
    build: [["scripts/build.ts"]],
    package: [["scripts/package.ts"]],
  },
];
const steps: Steps = Object.assign({}, ...lanes);

const usual = ["format", "lint", "types", "layers", "knip", "test"];
const root = join(import.meta.dirname, "..");
const asked = process.argv.slice(2);
for (const name of asked) {
  if (!(name in steps)) {
    console.error(`There is no check named ${name}. The checks are: ${Object.keys(steps).join(", ")}.`);
    process.exit(64);
  }
}
const failed: string[] = [];

/** Runs a command, and prints what it said once it has ended. */
const isGood = (command: readonly string[]) =>
  new Promise<boolean>((resolve) => {
    const options = { cwd: root, maxBuffer: Number.POSITIVE_INFINITY };
    execFile(process.execPath, ["scripts/run.mjs", ...command], options, (error, stdout, stderr) => {
      process.stdout.write(stdout + stderr);
      resolve(error === null);
    });
  });

async function run(name: string, commands: readonly (readonly string[])[]): Promise<void> {
  const started = performance.now();
  let ok = true;
  for (const command of commands) ok &&= await isGood(command);
  if (!ok) failed.push(name);
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}

const wanted = asked.length > 0 ? asked : usual;
await Promise.all(
  lanes.map(async (lane) => {
    for (const [name, commands] of Object.entries(lane)) if (wanted.includes(name)) await run(name, commands);
  }),
);
if (failed.length > 0) {
  console.error(`failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
