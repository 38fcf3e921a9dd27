import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Tries the built package on every runtime it is said to run on: the demo must answer once on each. Linux x64. */
const root = join(import.meta.dirname, "..");
const folder = join(import.meta.dirname, "runtimes");
const runtimes: Readonly<Record<string, string>> = {
  "Node 22": "node_modules/node-22/bin/node",
  "Node 26": "node_modules/node-26/bin/node",
  Bun: "node_modules/@oven/bun-linux-x64/bin/bun",
};

if (process.platform !== "linux" || process.arch !== "x64") {
  console.log("runtimes: skipped, the other runtimes are pinned for Linux x64 only");
  process.exit(0);
}
const bin = join(root, "dist/cli/bin.js");
if (!existsSync(bin)) throw new Error("There is no dist/: run `npm run build` first.");
spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
  cwd: folder,
  stdio: "inherit",
});
let failed = 0;
for (const [name, path] of Object.entries(runtimes)) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(join(folder, path), [bin, "demo", "--once"], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (status === 0 && !/ExperimentalWarning/.test(stderr)) continue;
  failed++;
  console.log(stdout, stderr);
}
if (failed > 0) process.exitCode = 1;
