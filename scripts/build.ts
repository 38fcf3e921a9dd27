import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Builds `dist/`: JavaScript, types and source maps of `src/`, and the dashboard where there is one. */
const root = join(import.meta.dirname, "..");
const require = createRequire(import.meta.url);

function run(file: string, args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(join(root, "dist"), { recursive: true, force: true });
run(require.resolve("typescript/bin/tsc"), ["-p", "tsconfig.build.json"]);
chmodSync(join(root, "dist/cli/bin.js"), 0o755);
if (existsSync(join(root, "web/vite.config.ts"))) {
  run(join(root, "node_modules/vite/bin/vite.js"), ["build", "--logLevel", "warn", "--config", "web/vite.config.ts"]);
}
