import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "../clients/packed.ts";
import { openWorld, put, worldLock } from "./world.ts";

/*
 * `npm test -- programs windows [EXPRESSION]`: the packed product with Node for Windows, its file system, processes and named pipes. On Windows
 * itself it runs there, elsewhere under Wine. `inside/` is what runs there. The regular expression chooses checks by their sentences.
 */
const words = process.argv.slice(2);
const isAlone = "MILLRACE_WINDOWS_ALONE";
const inside = join(import.meta.dirname, "inside");
const temporary = mkdtempSync(join(tmpdir(), "millrace-windows-"));
try {
  process.exitCode = process.platform === "win32" ? here() : await underWine();
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

/** The world is one for this machine, and so are the files that are put into it: a second run waits for the first. */
function alone(): number {
  const env = { ...process.env, [isAlone]: "1" };
  return spawnSync("flock", [worldLock(), ...process.argv], { stdio: "inherit", env }).status ?? 1;
}

function here(): number {
  return (
    spawnSync(process.execPath, [join(inside, "run.ts"), pack(temporary), ...words], { stdio: "inherit" }).status ?? 1
  );
}

async function underWine(): Promise<number> {
  if (process.env[isAlone] === undefined) return alone();
  const world = await openWorld();
  if (typeof world === "string") {
    process.stdout.write(`The suite for Windows did not run: ${world}.\n\n0 passed, 0 failed, 1 skipped\n`);
    return 0;
  }
  put(world, inside, "suite");
  put(world, pack(temporary), "millrace.tgz");
  const run = (node: string, chosen: readonly string[]) =>
    world.run(`Z:\\w\\${node}\\node.exe`, [
      "--no-warnings",
      "--experimental-strip-types",
      String.raw`Z:\w\suite\run.ts`,
      String.raw`Z:\w\millrace.tgz`,
      ...chosen,
    ]);
  const codes = [await run("node-24", words)];
  if (words.length === 0) codes.push(await run("node-22", ["--few"]));
  return Math.max(...codes);
}
