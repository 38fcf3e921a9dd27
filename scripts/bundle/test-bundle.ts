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
} from "node:fs";
import { join } from "node:path";
import { bundlePrograms } from "./bundle.ts";

const root = join(import.meta.dirname, "../..");
/** Not in version control. As deep as `dist/node`: the programs look for `package.json` and the dashboard from there. */
const bundles = join(root, ".bundle");
const keepMs = 3_600_000;

/**
 * The programs as they are published, for the processes that tests and benchmarks start. The folder is named by a digest of
 * all that goes into it, so it is built once for each state of the sources, and is never stale.
 */
export async function testBundle(): Promise<string> {
  const folder = join(bundles, digest());
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  mkdirSync(bundles, { recursive: true });
  const unfinished = mkdtempSync(join(bundles, "unfinished-"));
  try {
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

/** All that decides what the bundle holds. */
function digest(): string {
  const sources = globSync("{src,simulator}/**/*.ts", { cwd: root }).filter(
    (path) => !/\.(test|conformance|fake)\.ts$/.test(path),
  );
  const settings = globSync(["package.json", "package-lock.json", "tsconfig.json", "scripts/bundle/*.ts"], {
    cwd: root,
  });
  const hash = createHash("sha256");
  for (const path of [...sources, ...settings].toSorted()) {
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

if (import.meta.main) process.stdout.write(await testBundle());
