import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { getAsset, getRawAsset } from "node:sea";
import { runInThisContext } from "node:vm";
import { brotliDecompressSync } from "node:zlib";
import { cacheFolder } from "../../src/cli/compile-cache.ts";

/**
 * The main of the single file. It lays the package down in the user's cache, and runs what it is asked to run with itself as Node: its
 * command line, or a helper (a script of the package, or `-e`), which the package starts by `process.execPath`. Other programs may clean a
 * cache at any time, so each start looks whether the package is whole. A gateway that began before this file was replaced still starts its
 * helpers by the file's name: theirs is the package that they name.
 */
const versions = join(cacheFolder(process.env, process.platform, homedir()), "millrace", "program");
const digest = getAsset("digest", "utf8");

const words = process.argv.slice(2);
const at = words.findIndex((word) => !word.startsWith("-") || word === "-e"); // before it: flags of Node, which it cannot take here
const [first = "", ...rest] = words.slice(at);
const [script, packageOfScript = "", ofScript] =
  /^(.*[\\/]millrace[\\/]program[\\/]([0-9a-f]{16})[\\/]).*\.c?js$/.exec(first) ?? [];
if (first === "-e" && rest[1] === "--") {
  process.argv = [process.execPath, ...rest.slice(2)];
  Object.assign(globalThis, { require: createRequire(process.execPath) });
  runInThisContext(rest[0] ?? "");
} else if (script !== undefined && (ofScript === digest || existsSync(script))) {
  process.argv = [process.execPath, script, ...rest];
  if (ofScript === digest) makeWhole(packageOfScript); // the home of a helper may be another one
  start(packageOfScript, script);
} else {
  // its own name, where a script's would stand: then it is started again as it was
  process.argv = [process.execPath, process.execPath, ...(first === process.execPath ? rest : words)];
  const folder = join(versions, digest);
  makeWhole(folder);
  start(folder, join(folder, "dist/node/bin.js"));
}

function start(folder: string, file: string): void {
  const load = createRequire(join(folder, "start.cjs"))("./start.cjs") as (file: string) => Promise<unknown>;
  void load(file);
}

function isWhole(folder: string): boolean {
  try {
    const names = JSON.parse(readFileSync(join(folder, "files.json"), "utf8")) as readonly string[]; // the build wrote it
    return names.every((name) => existsSync(join(folder, name)));
  } catch {
    return false;
  }
}

/** Lays the package down where it is not whole, all of it or nothing: others may start at the same moment. */
function makeWhole(folder: string): void {
  if (isWhole(folder)) return;
  const programs = dirname(folder);
  let unfinished = "";
  try {
    mkdirSync(programs, { recursive: true, mode: 0o700 });
    unfinished = mkdtempSync(join(programs, "unfinished-"));
    const files = JSON.parse(brotliDecompressSync(Buffer.from(getRawAsset("files"))).toString()) as Readonly<
      Record<string, string>
    >; // the build wrote it
    const whole = join(unfinished, "whole");
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(whole, name)), { recursive: true });
      writeFileSync(join(whole, name), content, "base64");
    }
    try {
      if (existsSync(folder) && !isWhole(folder)) renameSync(folder, join(unfinished, "damaged"));
      renameSync(whole, folder);
    } catch (error) {
      if (!isWhole(folder)) throw error; // otherwise another one was first
    }
    rmSync(unfinished, { recursive: true, force: true });
  } catch (error) {
    if (unfinished !== "") rmSync(unfinished, { recursive: true, force: true });
    const hint = process.platform === "linux" ? " Set XDG_CACHE_HOME to a folder that can be written." : "";
    process.stderr.write(`error: Millrace cannot write its program to ${programs} (${String(error)}).${hint}\n`);
    process.exit(73);
  }
}
