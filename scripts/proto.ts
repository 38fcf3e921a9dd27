import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";

/** Checks `proto/` and writes `src/proto/`. The result is committed, so that installing needs no generator. */
const root = join(import.meta.dirname, "..");
const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}` };
for (const args of [["format", "-w"], ["lint"], ["generate"]]) {
  const { status } = spawnSync(process.execPath, [buf, ...args], { cwd: root, stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
}
