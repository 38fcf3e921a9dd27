import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/**
 * A small Debian with Wine, in which Node for Windows runs as on Windows. It is made once for each machine, below the user's cache:
 * some 1.4 GB, a minute or more. Its processes have a process list of their own and end with the program that was started.
 */
export interface World {
  /** The folder that is `Z:\w` inside. */
  readonly shared: string;
  /** Runs one program of Windows in `Z:\w` to its end, and shows what it writes. The exit code. */
  run(program: string, args: readonly string[]): Promise<number>;
}

/** Wine 10 is the first that Node 24 runs under; Debian 13 has it. */
const debian = "trixie";
/** The most that one program may take: a server of Wine that crashed ends nothing by itself. */
const limitS = 900;
const packages = "wine64,wine,ca-certificates,procps";

const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "millrace/windows");

/** The file that is locked while the world is used. */
export function worldLock(): string {
  mkdirSync(cache, { recursive: true });
  return join(cache, "lock");
}

/** The world of this machine, made where it is missing; a sentence that says why where it cannot be made. */
export async function openWorld(): Promise<World | string> {
  const why = missing();
  if (why !== undefined) return why;
  const folder = join(cache, "world");
  if (!existsSync(folder)) {
    const failed = make(folder);
    if (failed !== undefined) return failed;
  }
  const shared = join(folder, "w");
  const nodes = installNodes(shared);
  if (nodes !== undefined) return nodes;
  const run: World["run"] = (program, args) => runInside(folder, ["wine", program, ...args]);
  const prefix = join(shared, "prefix");
  if (!existsSync(prefix)) await runInside(folder, ["wine", "wineboot", "-i"]);
  const code = await run(String.raw`Z:\w\node-24\node.exe`, [
    "-e",
    "process.exit(process.platform === 'win32' ? 0 : 1)",
  ]);
  if (code === 0) return { shared, run };
  rmSync(prefix, { recursive: true, force: true }); // the next run makes it anew
  return `Node for Windows does not start under Wine (exit code ${code})`;
}

function missing(): string | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return "Wine is used on Linux x64 only";
  if (process.getuid?.() !== 0) return "making and entering a small Debian needs root";
  if (spawnSync("unshare", ["--mount", "--pid", "--fork", "true"]).status !== 0)
    return "this machine allows no mount namespace";
  return undefined;
}

function make(folder: string): string | undefined {
  if (spawnSync("debootstrap", ["--version"]).error !== undefined) return "debootstrap is not installed";
  process.stderr.write("Making a Debian with Wine: a minute or more …\n");
  const part = join(cache, "world.part");
  rmSync(part, { recursive: true, force: true });
  const made = spawnSync("debootstrap", ["--variant=minbase", `--include=${packages}`, debian, part], {
    encoding: "utf8",
  });
  if (made.status !== 0) return `debootstrap failed: ${made.stdout.trim().split("\n").at(-1) ?? ""} ${made.stderr}`;
  mkdirSync(join(part, "w"));
  renameSync(part, folder);
  return undefined;
}

/** Puts each Node of the lock file, with the npm of this machine, into the folder that the world shares. */
function installNodes(shared: string): string | undefined {
  const npmFile = process.env["npm_execpath"]; // `npm test` runs this
  if (npmFile === undefined) return "it must be started by npm, whose files it copies";
  for (const file of ["package.json", "package-lock.json"]) cpSync(join(import.meta.dirname, file), join(cache, file));
  const args = ["ci", "--os=win32", "--cpu=x64", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stderr } = spawnSync("npm", args, { cwd: cache, encoding: "utf8" });
  if (status !== 0) return `npm cannot install Node for Windows: ${stderr.trim()}`;
  for (const name of ["node-22", "node-24"]) {
    const target = join(shared, name);
    rmSync(target, { recursive: true, force: true });
    cpSync(join(cache, "node_modules", name, "bin"), target, { recursive: true });
    cpSync(dirname(dirname(npmFile)), join(target, "node_modules/npm"), { recursive: true, dereference: true });
  }
  return undefined;
}

/**
 * Mounts live in a namespace of their own, so that nothing stays mounted, and processes in another, so that none is left. Output goes
 * through a file, because Node for Windows cannot write to a pipe of Linux. Wine's own server writes the registry when it ends.
 */
async function runInside(folder: string, command: readonly string[]): Promise<number> {
  const name = `output-${process.pid}`;
  const output = join(folder, "w", name);
  for (const disk of ["read-only", "small"]) mkdirSync(join(folder, "w", disk), { recursive: true });
  writeFileSync(output, "");
  const enter = `mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && mount -t tmpfs -o ro tmpfs "$0/w/read-only" && mount -t tmpfs -o size=16m tmpfs "$0/w/small" && exec chroot "$0" sh -c 'cd /w && timeout -k 5 ${limitS} "$@" >"/w/$0" 2>&1 </dev/null; code=$?; timeout 20 wineserver -k; timeout 20 wineserver -w; exit $code' ${name} "$@"`;
  const wine = { LC_ALL: "C.UTF-8", WINEPREFIX: "/w/prefix", WINEDEBUG: "-all", DISPLAY: "", XDG_RUNTIME_DIR: "/tmp" };
  const env = { PATH: process.env["PATH"], HOME: "/root", ...wine };
  const own = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];
  const args = [...own, "sh", "-c", enter, folder, ...command];
  const child = spawn("unshare", args, { stdio: "inherit", env });
  const shown = spawn("tail", [`--pid=${child.pid ?? 0}`, "--follow", "--lines=+1", output], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = once(shown, "close");
  const [code] = (await once(child, "exit")) as [number | null];
  await ended;
  rmSync(output);
  return code ?? 1;
}

/** Puts a file or folder at a place of the shared folder, in place of what was there. */
export function put(world: World, from: string, name: string): void {
  const target = join(world.shared, name);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(dirname(target), { recursive: true });
  cpSync(from, target, { recursive: true });
}
