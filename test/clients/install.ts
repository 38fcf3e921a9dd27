import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const here = import.meta.dirname;
const manifest = join(here, "package.json");

/** Packages that put their program in place after the install, and how. npm runs no install scripts here: these two are ours. */
const finishers = [
  ["opencode-ai", "postinstall.mjs"],
  ["@anthropic-ai/claude-code", "install.cjs"],
] as const;

/**
 * The folder with the pinned clients; installed once for each state of package.json, in the user's cache (or
 * MILLRACE_TEST_CLIENTS), never beside Millrace's own packages. The drivers are copied there at every run.
 */
export async function installClients(): Promise<string> {
  const digest = createHash("sha256").update(readFileSync(manifest)).digest("hex").slice(0, 12);
  const cache = process.env["MILLRACE_TEST_CLIENTS"] ?? join(homedir(), ".cache", "millrace", "test-clients");
  const folder = join(cache, digest);
  const done = join(folder, "installed");
  if (!existsSync(done)) {
    process.stderr.write(`Installing the clients into ${folder} (about a minute, once) …\n`);
    mkdirSync(folder, { recursive: true });
    copyFileSync(manifest, join(folder, "package.json"));
    await ran("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder);
    for (const [name, script] of finishers) {
      const own = join(folder, "node_modules", name);
      await ran(process.execPath, [join(own, script)], own);
    }
    writeFileSync(done, "");
  }
  cpSync(join(here, "drivers"), join(folder, "drivers"), { recursive: true });
  return folder;
}

/** The version of an installed client. */
export function versionOf(folder: string, name: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return version;
}

async function ran(command: string, args: readonly string[], cwd: string): Promise<void> {
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
  const child = spawn(command, [...args], {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, PATH: path },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code} in ${cwd}`);
}
