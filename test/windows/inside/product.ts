import { strict as assert } from "node:assert";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Stand from "../../../simulator/index.ts";

/** One person of Windows: a profile of their own, in which nothing is set up. */
export interface Person {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How far the check has come, for the report of one that hangs. */
export const progress = { at: "" };

/** Why a check cannot be made on this machine. */
export class Skip extends Error {}

/** The processes of Node on this machine, but for this one. Wine writes to a pipe in UTF-16, Windows does not. */
function nodePids(): readonly number[] {
  const { stdout } = spawnSync("tasklist", ["/fo", "csv", "/nh"], { encoding: "utf8", timeout: 30_000 });
  const rows = stdout.replaceAll("\0", "").matchAll(/"node\.exe","(\d+)"/g);
  return [...rows].map(([, pid]) => Number(pid)).filter((pid) => pid !== process.pid);
}

/** Under Wine nothing else runs: ends what a check left behind, so that the next one is alone. On Windows the user's own programs run too. */
export function endOthers(): void {
  if (process.env["WINEPREFIX"] === undefined) return;
  for (const pid of nodePids()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has ended meanwhile
    }
  }
}

/** The folder into which npm installs as `npm install --global` does. */
export const prefix = mkdtempSync(join(tmpdir(), "global-"));
const bin = join(prefix, "node_modules/millrace/dist/node/bin.js");
const npm = join(dirname(process.execPath), "node_modules/npm/bin/npm-cli.js");

/** Installs the tarball with npm, whose shims for cmd and PowerShell it makes. */
export async function install(tarball: string): Promise<void> {
  const person = newPerson("installer");
  const args = ["install", "--global", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", "--offline"];
  const installed = await run([npm, ...args, tarball], person);
  assert.equal(installed.code, 0, `npm could not install it: ${installed.stdout}${installed.stderr}`);
}

/** A profile below a folder of this name. `env`: variables that differ from those of an ordinary profile. */
export function newPerson(name: string, env: NodeJS.ProcessEnv = {}): Person {
  const folder = join(mkdtempSync(join(tmpdir(), "user-")), name);
  const roaming = join(folder, "AppData", "Roaming");
  const local = join(folder, "AppData", "Local");
  mkdirSync(roaming, { recursive: true });
  mkdirSync(local, { recursive: true });
  const { SystemRoot, ComSpec, PATH, PATHEXT, TEMP, TMP } = process.env;
  const path = `${dirname(process.execPath)}${delimiter}${PATH ?? ""}`;
  const own = { SystemRoot, ComSpec, PATH: path, PATHEXT, TEMP, TMP, USERPROFILE: folder, APPDATA: roaming };
  return { folder, env: { ...own, LOCALAPPDATA: local, NO_COLOR: "1", ...env } };
}

/** Runs a command line of Millrace to its end. */
export async function millrace(person: Person, ...args: readonly string[]): Promise<Ran> {
  return run([bin, ...args], person);
}

/** The same, for a command that must succeed. What it wrote to stdout. */
export async function output(person: Person, ...args: readonly string[]): Promise<string> {
  const ran = await millrace(person, ...args);
  assert.equal(ran.code, 0, `millrace ${args.join(" ")} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}

async function run(args: readonly string[], person: Person): Promise<Ran> {
  const child = spawn(process.execPath, args, { env: person.env, stdio: ["ignore", "pipe", "pipe"] });
  const written = collect(child);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...written };
}

/** What a child writes, as it comes. */
export function collect(child: ChildProcess) {
  const written = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (written.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (written.stderr += text));
  return written;
}

/** A gateway in a process of its own. */
export interface Gateway {
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  /** Ends it at once, as Windows' task manager does. */
  kill(): Promise<void>;
}

/** Starts `millrace serve` on a free port, and waits until it listens. */
export async function serve(person: Person, ...args: readonly string[]): Promise<Gateway> {
  const all = [bin, "serve", "--port", "0", "--json", ...args];
  const child = spawn(process.execPath, all, { env: person.env, stdio: ["ignore", "pipe", "pipe"] });
  const written = collect(child);
  const ended = once(child, "close");
  const ready = new Promise<string>((resolve) => {
    child.stdout.on("data", () => written.stdout.includes("\n") && resolve(written.stdout));
    void ended.then(() => resolve(""));
  });
  const line = await ready;
  assert.notEqual(line, "", `the gateway ended: ${written.stderr}`);
  const { url, key_file: keyFile } = JSON.parse(line) as { readonly url: string; readonly key_file: string };
  return {
    url,
    key: readFileSync(keyFile, "utf8").trim(),
    pid: child.pid ?? 0,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** The installed stand-in of the agent in this person's profile, and the command that starts it: its launcher is a script of Linux. */
export async function startAgent({ folder, env }: Person, text: string) {
  const entry = pathToFileURL(join(prefix, "node_modules/millrace/dist/node/simulator.js")).href;
  const { startSimulator } = (await import(entry)) as typeof Stand;
  const ide = await startSimulator({ profile: "devin-cli", home: folder, turn: { text, rate: "instant" } });
  const program = join(prefix, "node_modules/millrace/dist/node/simulated-agent.js");
  const words = [process.execPath, "--no-warnings", program, join(ide.home, ".millrace-simulator/agent.json"), "acp"];
  env["MILLRACE_ACP_COMMAND"] = words.map((word) => `"${word}"`).join(" ");
  env["MILLRACE_ACCEPT"] = "1";
  return ide;
}

interface Models {
  readonly data: readonly { readonly id: string }[];
}

/** The first model of the gateway's list. */
export async function modelOf({ url, key }: Pick<Gateway, "url" | "key">): Promise<string | undefined> {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as Models).data[0]?.id;
}

/** One streamed answer of the gateway: its text, and whether the stream ended by its sign of the end. */
export async function ask({ url, key }: Gateway, content: string, headers: Record<string, string> = {}) {
  const answer = { text: "", whole: false };
  const own = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  try {
    const model = await modelOf({ url, key });
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...own, ...headers },
      body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content }] }),
    });
    let rest = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "data: [DONE]") answer.whole = true;
        else if (line.startsWith("data: ")) answer.text += deltaOf(line.slice(6));
      }
    }
    if (!response.ok) answer.text = `${response.status} ${rest}`;
  } catch {
    // the gateway was ended
  }
  return answer;
}

function deltaOf(json: string): string {
  const part = JSON.parse(json) as { readonly choices?: readonly { readonly delta?: { readonly content?: string } }[] };
  return part.choices?.[0]?.delta?.content ?? "";
}
