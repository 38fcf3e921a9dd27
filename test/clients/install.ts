import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const here = import.meta.dirname;
/** Packages that put their program in place after the install, and how. npm runs no install scripts here: these two are ours. */
const finishers = [
  ["opencode-ai", "postinstall.mjs"],
  ["@anthropic-ai/claude-code", "install.cjs"],
] as const;

const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/**
 * The folder with the pinned clients, or with their `newest` releases; installed once for each state of package.json, in the user's cache (or
 * MILLRACE_TEST_CLIENTS), never beside Millrace's own packages. The drivers are copied there at every run.
 */
export async function installClients({ newest = false, manifest = join(here, "package.json") } = {}): Promise<string> {
  const pinned = await installPackages(manifest);
  const folder = newest ? await installNewest(pinned) : pinned;
  cpSync(join(here, "drivers"), join(folder, "drivers"), { recursive: true });
  return folder;
}

/** A folder with the newest release of each client, made once a day from the pinned ones. A release that cannot be installed is named, and its pinned one stays. */
async function installNewest(pinned: string): Promise<string> {
  const folder = join(dirname(pinned), `newest-${new Date().toISOString().slice(0, 10)}`);
  const done = join(folder, "installed");
  if (existsSync(done)) return folder;
  mkdirSync(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(pinned, file), join(folder, file));
  const { dependencies = {}, optionalDependencies = {} } = readManifest(join(here, "package.json"));
  const all = Object.entries({ ...dependencies, ...optionalDependencies });
  const newest = all.map(([name, version]) => newestOf(name, version));
  const stays = (release: string) => process.stderr.write(`${release} cannot be installed; the pinned one stays.\n`);
  await ran("npm", [...install, ...newest], folder).catch(async () => {
    await ran("npm", install, folder);
    for (const release of newest) await ran("npm", [...install, release], folder).catch(() => stays(release));
  });
  for (const [name, version] of all) {
    if (hasPrograms(name, folder, pinned)) continue;
    stays(newestOf(name, version));
    await ran("npm", [...install, `${name}@${version}`], folder);
  }
  await finish(folder);
  writeFileSync(done, "");
  return folder;
}

/** What npm installs as the newest release of a pinned package: of `npm:ai@5.0.277`, which stands under a name of ours, the newest 5. */
function newestOf(name: string, pinned: string): string {
  const [, real, major] = /^npm:(.+)@(\d+)\./.exec(pinned) ?? [];
  return `${name}@${real === undefined ? "latest" : `npm:${real}@${major}`}`;
}

/** Whether a release brought the programs for this system that its pinned one has: npm installs it without them, where its makers published them later. */
function hasPrograms(name: string, folder: string, pinned: string): boolean {
  const { optionalDependencies = {} } = readManifest(join(pinned, "node_modules", name, "package.json"));
  const isIn = (place: string) => (program: string) => existsSync(join(place, "node_modules", program));
  return Object.keys(optionalDependencies).filter(isIn(pinned)).every(isIn(folder));
}

/** A manifest in the temporary folder: the given one with these packages alone. */
export function manifestOf(manifest: string, isWanted: (name: string) => boolean): string {
  const whole = readManifest(manifest);
  const wanted = Object.entries(whole.dependencies ?? {}).filter(([name]) => isWanted(name));
  const file = join(tmpdir(), "package.json");
  const dependencies = Object.fromEntries(wanted);
  writeFileSync(file, JSON.stringify({ ...whole, dependencies, optionalDependencies: {} }));
  return file;
}

/** The folder with the packages of a manifest, installed once for each state of it. */
export async function installPackages(manifest: string): Promise<string> {
  const digest = createHash("sha256").update(readFileSync(manifest)).digest("hex").slice(0, 12);
  const cache = process.env["MILLRACE_TEST_CLIENTS"] ?? join(homedir(), ".cache", "millrace", "test-clients");
  const folder = join(cache, digest);
  const done = join(folder, "installed");
  if (!existsSync(done)) {
    process.stderr.write(`Installing ${readManifest(manifest).name} into ${folder} (about a minute, once) …\n`);
    mkdirSync(folder, { recursive: true });
    copyFileSync(manifest, join(folder, "package.json"));
    await ran("npm", install, folder);
    await finish(folder);
    writeFileSync(done, "");
  }
  return folder;
}

async function finish(folder: string): Promise<void> {
  for (const [name, script] of finishers) {
    const own = join(folder, "node_modules", name);
    if (existsSync(own)) await ran(process.execPath, [join(own, script)], own);
  }
  const programs = join(folder, "node_modules", ".bin");
  const goose = join(programs, "goose-binary-linux-x64"); // its package for one system names it so
  if (existsSync(goose) && !existsSync(join(programs, "goose"))) symlinkSync(goose, join(programs, "goose"));
}

/** The version of an installed client. */
export function versionOf(folder: string, name: string): string {
  return readManifest(join(folder, "node_modules", name, "package.json")).version;
}

function readManifest(file: string) {
  return JSON.parse(readFileSync(file, "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly dependencies?: Readonly<Record<string, string>>;
    readonly optionalDependencies?: Readonly<Record<string, string>>;
  }; // ours, or one that npm has read
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
