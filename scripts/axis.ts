import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import axis from "./axis.json" with { type: "json" };

/*
 * `npm test -- axis [RUN | --each] [PATH]`: `npm test` at the corners of what Millrace promises, as `axis.json` names them: another Node, user, namespace of
 * processes, folder and language. If a machine does not allow a corner, the run names the corner and goes on without it.
 */
interface Corner {
  /** Below `scripts/runtimes/node_modules`; the Node of this process by default. */
  readonly node?: string;
  readonly user?: string;
  readonly container?: string;
  readonly folder?: string;
  readonly locale?: string;
}

const root = join(import.meta.dirname, "..");
const runs: Readonly<Record<string, Corner>> = axis.runs;
const nobody = 65_534;
const given = process.argv.slice(2);
/** Test files to run at each corner, in place of those of `npm test`. */
const paths = given.filter((word) => /[./]/.test(word));
const asked = given.filter((word) => !paths.includes(word) && word !== "--each");

function runAt(name: string, corner: Corner): boolean {
  const place = mkdtempSync(join(tmpdir(), "ma-")); // short: sockets stand below it
  chmodSync(place, 0o755);
  if (tmpdir() !== "/tmp") chmodSync(tmpdir(), 0o711); // the run's own folder
  try {
    const asNobody = corner.user === "nobody" && allowed(asNobodyRuns, "another user");
    const folder = cloneInto(join(place, corner.folder ?? "clone"), asNobody);
    const home = ownFolder(join(place, corner.folder === undefined ? "h" : "ü h"), asNobody);
    const under = [
      ...(corner.container === "pid" && allowed(inOwnProcesses, "a namespace of processes") ? inOwnProcesses : []),
      ...(asNobody ? asNobodyRuns : []),
    ];
    const node = nodeIn(place, runtime(corner.node));
    const command = [...under, node, "scripts/run.mjs", "scripts/test.ts", ...paths];
    const language = corner.locale === undefined ? {} : { LANG: corner.locale, LC_ALL: corner.locale };
    console.log(
      `axis ${name}: ${Object.entries({ ...corner, node })
        .map((each) => each.join(" "))
        .join(", ")}`,
    );
    const env = { ...process.env, ...language, HOME: home, TMPDIR: home, MILLRACE_TEST_BUNDLE: undefined };
    return spawnSync(command[0] ?? "", command.slice(1), { cwd: folder, stdio: "inherit", env }).status === 0;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const asNobodyRuns = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
const inOwnProcesses = [
  "unshare",
  ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
  "--pid",
  "--fork",
  "--mount-proc",
];

function allowed([program = "", ...args]: readonly string[], what: string): boolean {
  const is = process.platform === "linux" && spawnSync(program, [...args, "true"]).status === 0;
  if (!is) console.log(`axis: without ${what}, which this machine does not allow`);
  return is;
}

/** The path of a runtime, installed from the npm registry; the Node of this process where that cannot be reached. */
function runtime(path: string | undefined): string {
  if (path === undefined) return process.execPath;
  const folder = join(root, "scripts/runtimes");
  const file = join(folder, "node_modules", path);
  if (!existsSync(file))
    spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: folder,
      stdio: "inherit",
    });
  if (existsSync(file)) return file;
  console.log(`axis: ${path} cannot be installed here, so this runs on Node ${process.version}`);
  return process.execPath;
}

/** The binary where every user reaches it; a clone may stand in a home that is closed to others. */
function nodeIn(place: string, file: string): string {
  const node = join(place, "node");
  try {
    linkSync(file, node);
  } catch {
    copyFileSync(file, node); // another file system
  }
  return node;
}

/** A copy of the working tree that another user can read and write. Libraries are linked, file by file. */
function cloneInto(folder: string, isOthers: boolean): string {
  const listed = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  ownFolder(folder, isOthers);
  for (const file of listed.stdout.split("\0").filter((each) => each !== "" && existsSync(join(root, each)))) {
    const to = join(folder, file);
    if (!existsSync(dirname(to))) makeFolders(dirname(to), folder, isOthers);
    copyFileSync(join(root, file), to);
    if (isOthers) chownSync(to, nobody, nobody);
  }
  const libraries = join(folder, "node_modules");
  if (spawnSync("cp", ["-a", "--link", join(root, "node_modules"), libraries]).status !== 0)
    cpSync(join(root, "node_modules"), libraries, { recursive: true, verbatimSymlinks: true });
  for (const name of [".cache", ".vite", ".vite-temp"]) {
    rmSync(join(libraries, name), { recursive: true, force: true });
    ownFolder(join(libraries, name), isOthers);
  }
  return folder;
}

function makeFolders(path: string, top: string, isOthers: boolean): void {
  if (path === top || existsSync(path)) return;
  makeFolders(dirname(path), top, isOthers);
  ownFolder(path, isOthers);
}

function ownFolder(path: string, isOthers: boolean): string {
  mkdirSync(path, { recursive: true });
  if (isOthers) chownSync(path, nobody, nobody);
  return path;
}

const alone = Object.values(runs).flatMap((corner) =>
  Object.entries(corner).map(([key, value]) => [key, { [key]: value }] as const),
);
/** As for a test that failed: a worker that ended is no test that Vitest can try again. */
function fails(name: string, corner: Corner): boolean {
  if (runAt(name, corner)) return false;
  if (process.env["MILLRACE_TEST_RETRY"] === undefined) return true;
  console.log(` again axis ${name}`);
  return !runAt(name, corner);
}

const failed = (given.includes("--each") ? alone : Object.entries(runs))
  .filter(([name]) => asked.length === 0 || asked.includes(name))
  .filter(([name, corner]) => fails(name, corner))
  .map(([name]) => name);
if (failed.length > 0) {
  console.error(`failed at: ${failed.join(", ")}`);
  process.exitCode = 1;
}
