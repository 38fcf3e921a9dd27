import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Doors } from "../../src/base/node/door.ts";

const root = join(import.meta.dirname, "../..");

/** Where Node keeps what it compiled of the sources: half of the time a process takes to start from them. */
export const compileCache = { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/millrace-compiled") };

/** Where the programs are that tests start: the run's set-up says it, and builds it where no set-up ran. */
export function bundleFolder(): string {
  const script = join(root, "scripts/bundle/test-bundle.ts");
  return (process.env["MILLRACE_TEST_BUNDLE"] ??= execFileSync(process.execPath, [script], { encoding: "utf8" }));
}

/** A real gateway in a process of its own. */
export interface GatewayProcess {
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  /** All it wrote to stderr so far. */
  log(): string;
  /** SIGTERM, then waits for its end; answers the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL: no clean-up of any kind. */
  kill(): Promise<void>;
  /** Resolves when the process is gone, also if another process ended it. */
  readonly ended: Promise<void>;
}

export interface GatewayProcessOptions {
  /** The home of the user whose IDE is to be found, and where Millrace keeps its files. */
  readonly home: string;
  /** More arguments for `millrace serve`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The command to run; the bundle of the sources by default. */
  readonly bin?: string;
  /** A program that runs the command in its own place, with its arguments. */
  readonly under?: readonly string[];
}

/** The options of a gateway process with limits, or a kind of doors, that no user sets (`other-limits.ts`). */
export function withLimits(limits: Readonly<Record<string, number>> | Doors) {
  return {
    bin: join(import.meta.dirname, "other-limits.ts"),
    env: { MILLRACE_TEST_LIMITS: JSON.stringify(limits) },
  };
}

/** Starts `millrace serve` and waits until it listens. Rejects with what it wrote if it ends first. */
export async function startGatewayProcess(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const child = spawnMillrace(["serve", "--port", "0", "--json", ...(options.args ?? [])], options);
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const ready = await firstLine(child, () => log);
  const { url, key_file: keyFile } = JSON.parse(ready) as { readonly url: string; readonly key_file: string };
  const ended = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once("exit", () => resolve());
  });
  return {
    url,
    ended,
    key: readFileSync(keyFile, "utf8").trim(),
    pid: child.pid ?? -1,
    log: () => log,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      return child.exitCode;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** Runs any command line of Millrace in a process of its own, in an environment without the developer's own settings. */
export function spawnMillrace(args: readonly string[], options: Omit<GatewayProcessOptions, "args">) {
  const bin = options.bin ?? join(bundleFolder(), "bin.js");
  const [program, ...before] = options.under ?? [];
  const own = [bin, ...args];
  return spawn(program ?? process.execPath, program === undefined ? own : [...before, process.execPath, ...own], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: options.home,
      USERPROFILE: options.home,
      APPDATA: join(options.home, "AppData/Roaming"),
      TMPDIR: process.env["TMPDIR"] ?? "/tmp",
      NO_COLOR: "1",
      // Other tests run stand-ins of their own on this machine at the same time.
      MILLRACE_IDE_ONLY_HOME: options.home,
      // A gateway that a command starts by itself takes any free port, unless the test sets one.
      MILLRACE_PORT: "0",
      ...compileCache,
      ...options.env,
    },
  });
}

/** Runs a command line to its end. */
export async function millrace(
  args: readonly string[],
  options: Omit<GatewayProcessOptions, "args">,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawnMillrace(args, options);
  const written = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (written.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (written.stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...written };
}

async function firstLine(
  child: ChildProcess & { readonly stdout: NodeJS.ReadableStream },
  log: () => string,
): Promise<string> {
  let text = "";
  return new Promise((resolve, reject) => {
    const onEnd = (code: number | null) => reject(new Error(`millrace serve ended with ${code}:\n${text}\n${log()}`));
    child.once("exit", onEnd);
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf("\n");
      if (end < 0) return;
      child.off("exit", onEnd);
      resolve(text.slice(0, end));
    });
  });
}
