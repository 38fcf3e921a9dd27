// `launchctl` as macOS has it, for one service. `bootout` returns before the service has ended, and `bootstrap` refuses until then.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const [action, ...args] = process.argv.slice(2);
const file = new URL("launchctl.json", import.meta.url);
const known = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;

function runs(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false; // has ended
  }
}

function fail(code, text) {
  process.stderr.write(`${text}\n`);
  process.exit(code);
}

function start(plist) {
  const text = readFileSync(plist, "utf8");
  const plain = (word) =>
    word.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const inside = (key, kind) => new RegExp(`<key>${key}</key>\\s*<${kind}>([^]*?)</${kind}>`).exec(text)?.[1] ?? "";
  const [program, ...words] = [...inside("ProgramArguments", "array").matchAll(/<string>([^]*?)<\/string>/g)].map(
    ([, word]) => plain(word),
  );
  const pairs = inside("EnvironmentVariables", "dict").matchAll(/<key>([^]*?)<\/key>\s*<string>([^]*?)<\/string>/g);
  const own = { HOME: process.env.HOME, USER: process.env.USER, TMPDIR: process.env.TMPDIR };
  const env = { ...own, ...Object.fromEntries([...pairs].map(([, name, value]) => [plain(name), plain(value)])) };
  const child = spawn(program, words, { env, detached: true, stdio: "ignore" });
  child.unref();
  writeFileSync(file, JSON.stringify({ pid: child.pid, plist }));
}

const isThere = known !== undefined && (known.leaves !== true || runs(known.pid));
if (action === "print") {
  if (!isThere) fail(113, `Bad request.\nCould not find service "${args[0]}" in domain for user gui`);
  process.stdout.write(
    `${args[0]} = {\n\tpath = ${known.plist}\n\tstate = ${runs(known.pid) ? "running" : "not running"}\n}\n`,
  );
} else if (action === "bootout") {
  if (!isThere) fail(3, "Boot-out failed: 3: No such process");
  if (runs(known.pid)) process.kill(known.pid, "SIGTERM");
  writeFileSync(file, JSON.stringify({ ...known, leaves: true }));
} else if (action === "bootstrap") {
  if (isThere) fail(5, "Bootstrap failed: 5: Input/output error");
  start(args[1]);
} else fail(64, `Unrecognized subcommand: ${action}`);
