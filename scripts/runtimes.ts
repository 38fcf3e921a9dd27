import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSimulator } from "../simulator/index.ts";
import { startGateway } from "../src/cli/compose/start-gateway.ts";

/**
 * Tries the built package on every runtime that the docs promise: the demo must answer once on each, and the client library
 * must go on with a stream on each tier. Linux x64.
 */
const root = join(import.meta.dirname, "..");
const folder = join(import.meta.dirname, "runtimes");
const runtimes: Readonly<Record<string, string>> = {
  "Node 22.13": "node_modules/node-22.13/bin/node",
  "Node 22": "node_modules/node-22/bin/node",
  "Node 26": "node_modules/node-26/bin/node",
  Bun: "node_modules/@oven/bun-linux-x64/bin/bun",
};

if (process.platform !== "linux" || process.arch !== "x64") {
  console.log("runtimes: skipped, the other runtimes are pinned for Linux x64 only");
  process.exit(0);
}
const bin = join(root, "dist/node/bin.js");
if (!existsSync(bin)) throw new Error("There is no dist/: run `npm run build` first.");
const installed = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
  cwd: folder,
  stdio: "inherit",
});
if (installed.status !== 0) {
  console.log("skipped: the npm registry of this machine does not have the other runtimes");
  process.exit(0);
}
/** Runs a program to its end, beside the gateway of this process. */
async function run(name: string, path: string, args: readonly string[]): Promise<boolean> {
  const started = performance.now();
  const child = spawn(join(folder, path), args, { stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const ok = status === 0 && !/ExperimentalWarning/.test(stderr);
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (!ok) console.log(stdout, stderr);
  return ok;
}

/** How many files of `dist` this Node cannot read: each command is a chunk of its own, and the demo loads few of them. */
async function unreadable(name: string, path: string): Promise<number> {
  const files = readdirSync(join(root, "dist/node")).filter((file) => file.endsWith(".js"));
  const results = await Promise.all(
    files.map(async (file) => {
      const child = spawn(join(folder, path), ["--check", join(root, "dist/node", file)], { stdio: "inherit" });
      const [status] = (await once(child, "close")) as [number | null];
      return status === 0;
    }),
  );
  const bad = results.filter((ok) => !ok).length;
  console.log(`${bad === 0 ? "ok  " : "FAIL"} ${name}: reads the ${files.length} files of dist`);
  return bad;
}

// A stand-in IDE and a gateway of the sources, for the client library to speak to.
const simulator = await startSimulator();
const gateway = await startGateway({
  homeFolder: simulator.home,
  env: { MILLRACE_IDE_ONLY_HOME: simulator.home, PATH: process.env["PATH"] ?? "" },
});
let failed = 0;
try {
  for (const [name, path] of Object.entries(runtimes)) {
    if (name !== "Bun") failed += await unreadable(name, path);
    if (!(await run(`${name}: the demo`, path, [bin, "demo", "--once"]))) failed++;
    const records = mkdtempSync(join(tmpdir(), "millrace-runtimes-"));
    const args = [join(folder, "client.mjs"), gateway.url, gateway.key, records, "claude-sonnet-4.6"];
    if (!(await run(`${name}: the client library`, path, args))) failed++;
    rmSync(records, { recursive: true, force: true });
  }
} finally {
  await gateway.close();
  await simulator.stop();
}
if (failed > 0) process.exitCode = 1;
