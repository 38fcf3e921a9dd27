import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
/** Not in version control. As deep as `dist/node`: the programs look for `package.json` and the dashboard from there. */
const bundles = join(root, ".bundle");
const keepMs = 3_600_000;

/** Where the programs of these sources are once they are built. The folder is named by a digest of all that goes into it, so it is never stale. */
export function testBundleFolder(): string {
  return join(bundles, digest(programSources));
}

/** Builds the programs as they are published, for `npm run demo` and for the processes that tests and benchmarks start; once for each state of the sources. */
export async function testBundle(folder = testBundleFolder()): Promise<string> {
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  process.stderr.write("Building Millrace from these sources, once for each state of them …\n");
  mkdirSync(bundles, { recursive: true });
  const unfinished = mkdtempSync(join(bundles, "unfinished-"));
  try {
    const { bundlePrograms } = await import("./bundle.ts"); // the bundler takes a while to load
    await bundlePrograms(unfinished);
    chmodSync(unfinished, 0o755); // tests start programs of other users too
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // otherwise another run was first
  }
  removeOld();
  return folder;
}

const programSources = [
  "{src,simulator}/**/*.ts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "scripts/{bundle,single-file}/*.ts",
] as const;

/** The state of the files that decide what is built. */
function digest(patterns: readonly string[]): string {
  const paths = globSync(patterns, { cwd: root }).filter((path) => !/\.(test|conformance|fake)\.ts$/.test(path));
  const hash = createHash("sha256");
  for (const path of paths.toSorted()) {
    if (!statSync(join(root, path)).isFile()) continue;
    const content = readFileSync(join(root, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Another run may still use a bundle of an earlier state: only what no run asked for during an hour goes. */
function removeOld(): void {
  for (const name of readdirSync(bundles)) {
    const path = join(bundles, name);
    const usedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - usedAtMs > keepMs) rmSync(path, { recursive: true, force: true });
  }
}

/** The dashboard in `dist/dashboard`, where the programs look for it; built if its sources have changed since. */
async function buildDashboard(): Promise<void> {
  const made = join(bundles, `dashboard-${digest(["web/**/*", "package-lock.json"])}`);
  if (existsSync(made) && existsSync(join(root, "dist/dashboard/index.html"))) return;
  const { build } = await import("vite");
  await build({ configFile: join(root, "web/vite.config.ts"), logLevel: "error" });
  writeFileSync(made, "");
}

// `node test-bundle.ts`: for a person who runs Millrace in a clone. Prints the folder.
if (process.argv[1] === import.meta.filename) {
  const folder = await testBundle();
  await buildDashboard();
  process.stdout.write(folder);
}
