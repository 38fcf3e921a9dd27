import { spawnSync } from "node:child_process";
import { join } from "node:path";

/**
 * What must hold before a change lands, in the names CI uses. `npm run check` runs the usual ones and the quick tests;
 * `npm run check -- lint types` runs what is named.
 */
const steps: Readonly<Record<string, readonly (readonly string[])[]>> = {
  format: [["biome", "check", "--diagnostic-level=error", "."]],
  lint: [["oxlint", "--deny-warnings"]],
  types: [
    ["tsc", "-p", "."],
    ["tsc", "-p", "tsconfig.neutral.json"],
    ["tsc", "-p", "web"],
  ],
  layers: [["scripts/layers/check.ts"]],
  knip: [["knip"]],
  test: [["scripts/test.ts"]],
  build: [["scripts/build.ts"]],
  package: [["scripts/package.ts"]],
};

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
for (const [name, commands] of Object.entries(steps)) {
  if (!(asked.length > 0 ? asked : usual).includes(name)) continue;
  const started = performance.now();
  const ok = commands.every(
    (command) =>
      spawnSync(process.execPath, ["scripts/run.mjs", ...command], { cwd: root, stdio: "inherit" }).status === 0,
  );
  if (!ok) failed.push(name);
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
