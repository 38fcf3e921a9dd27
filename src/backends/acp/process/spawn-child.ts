import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { AgentChild, ChildLaunch } from "./agent-child.ts";

/**
 * Keeps an agent from outliving the gateway, also after a `kill -9`. The shell leaves a reader of descriptor 3 behind and
 * becomes the agent. The gateway holds the other end: when it dies, the reader wakes, gives the agent a second to end by
 * itself, and kills the process group, which is the agent, all that it started, and the reader.
 */
const lifeline =
  '(trap "" HUP INT TERM; read -r _ <&3; sleep 1; kill -KILL 0) </dev/null >/dev/null 2>&1 & exec "$@" 3<&-';

const errorTailChars = 8_192;
const shell = "/bin/sh";
/** The reader of the lifeline ends what is left of the group a second after the agent; then nothing holds its pipe. */
const drainMs = 2_000;

/**
 * Starts an agent as a process group of its own, with a lifeline where there is a POSIX shell. On Windows an agent that
 * ignores the end of its standard input outlives a killed gateway.
 */
export async function spawnChild(launch: ChildLaunch, clock: Clock): Promise<AgentChild> {
  const { command, args, cwd } = launch;
  const env = { ...launch.environment };
  const grouped = existsSync(shell);
  const child = grouped
    ? spawn(shell, ["-c", lifeline, "millrace-agent", command, ...args], {
        cwd,
        env,
        detached: true,
        stdio: ["pipe", "pipe", "pipe", "pipe"],
      })
    : spawn(command, [...args], { cwd, env, windowsHide: true, stdio: ["pipe", "pipe", "pipe"] });
  const started = new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  try {
    await started;
  } catch (error) {
    throw new MillraceError("upstream_failed", "The agent's program could not be started.", {
      hint: "Check the agent's command in the configuration; `millrace doctor` shows which programs were found.",
      cause: error,
    });
  }
  return new SpawnedChild(child, grouped, clock);
}

class SpawnedChild implements AgentChild {
  readonly pid: number;
  readonly exited: Promise<string>;
  readonly #child: ChildProcess;
  readonly #grouped: boolean;
  readonly #clock: Clock;
  readonly #input: Writable;
  readonly #output: Readable;
  #errorTail = "";
  #gone = false;

  constructor(child: ChildProcess, grouped: boolean, clock: Clock) {
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null)
      throw new MillraceError("internal", "A process of an agent was started without its pipes.");
    this.#child = child;
    this.#grouped = grouped;
    this.#clock = clock;
    this.pid = pid;
    this.#input = stdin;
    this.#output = stdout;
    const line = child.stdio[3];
    stdin.on("error", () => {}); // the process is gone: `exit` tells it
    line?.on("error", () => {}); // as above
    stderr.setEncoding("utf8");
    stderr.on("data", (text: string) => {
      this.#errorTail = (this.#errorTail + text).slice(-errorTailChars);
    });
    // What the process wrote last is read before its end is told, unless something that it started keeps the pipe open.
    const drained = new Promise<void>((resolve) => child.once("close", () => resolve()));
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#gone = true;
        line?.destroy();
        const how = signal === null ? `exit code ${code ?? "unknown"}` : `signal ${signal}`;
        void within(drained, drainMs, clock).then(() => resolve(how));
      });
    });
  }

  write(text: string): void {
    if (!this.#gone) this.#input.write(text);
  }

  onText(listener: (text: string) => void): void {
    this.#output.setEncoding("utf8");
    this.#output.on("data", listener);
  }

  errorTail(): string {
    return this.#errorTail;
  }

  async end(graceMs: number): Promise<void> {
    this.#input.end();
    if ((await within(this.exited, graceMs, this.#clock)) === undefined) this.#kill();
    await this.exited;
  }

  async rssBytes(): Promise<number | undefined> {
    if (this.#gone) return undefined;
    try {
      const status = await readFile(`/proc/${this.pid}/status`, "utf8");
      const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
      return kib === undefined ? undefined : Number(kib) * 1024;
    } catch {
      return await rssByPs(this.pid);
    }
  }

  #kill(): void {
    try {
      if (this.#grouped) process.kill(-this.pid, "SIGKILL");
      else this.#child.kill("SIGKILL");
    } catch {
      // it has ended meanwhile
    }
  }
}

function rssByPs(pid: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    execFile("ps", ["-o", "rss=", "-p", String(pid)], (error, stdout) => {
      const kib = Number.parseInt(stdout, 10);
      resolve(error !== null || Number.isNaN(kib) ? undefined : kib * 1024);
    });
  });
}
