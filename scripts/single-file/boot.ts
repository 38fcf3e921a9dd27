import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join, sep } from "node:path";
import { getAsset, getRawAsset } from "node:sea";
import { runInThisContext } from "node:vm";
import { brotliDecompressSync } from "node:zlib";
import { cacheFolder } from "../../src/cli/compile-cache.ts";

/**
 * The main of the single file. It lays the package down once in the user's cache, and runs what it is asked to run with itself as Node: its
 * command line, or a helper (a script of the package, or `-e`), which the package starts by `process.execPath`.
 */
const versions = join(cacheFolder(process.env, process.platform, homedir()), "millrace", "program");
const digest = getAsset("digest", "utf8");

const words = process.argv.slice(2);
const at = words.findIndex((word) => !word.startsWith("-") || word === "-e"); // before it: flags of Node, which it cannot take here
const [first = "", ...rest] = words.slice(at);
const own = join("millrace", "program", digest, sep);
if (first === "-e" && rest[1] === "--") {
  process.argv = [process.execPath, ...rest.slice(2)];
  Object.assign(globalThis, { require: createRequire(process.execPath) });
  runInThisContext(rest[0] ?? "");
} else if (first.includes(own) && existsSync(first)) {
  process.argv = [process.execPath, first, ...rest];
  start(first.slice(0, first.indexOf(own) + own.length), first); // the home of a helper may be another one
} else {
  // its own name, where a script's would stand: then it is started again as it was
  process.argv = [process.execPath, process.execPath, ...(first === process.execPath ? rest : words)];
  const folder = join(versions, digest);
  if (!existsSync(folder)) layDown(folder);
  start(folder, join(folder, "dist/node/bin.js"));
}

function start(folder: string, file: string): void {
  const load = createRequire(join(folder, "start.cjs"))("./start.cjs") as (file: string) => Promise<unknown>;
  void load(file);
}

/** Whole or not at all: others may start at the same moment. */
function layDown(folder: string): void {
  try {
    mkdirSync(versions, { recursive: true, mode: 0o700 });
    const unfinished = mkdtempSync(join(versions, "unfinished-"));
    const files = JSON.parse(brotliDecompressSync(Buffer.from(getRawAsset("files"))).toString()) as Readonly<
      Record<string, string>
    >; // the build wrote it
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(unfinished, name)), { recursive: true });
      writeFileSync(join(unfinished, name), content, "base64");
    }
    try {
      renameSync(unfinished, folder);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      if (!existsSync(folder)) throw error; // otherwise another one was first
    }
  } catch (error) {
    process.stderr.write(`error: Millrace cannot write its program to ${versions} (${String(error)}).\n`);
    process.exit(73);
  }
}
