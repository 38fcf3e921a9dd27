import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { MillraceError } from "../../../base/errors.ts";
import { startable } from "../../../base/node/startable.ts";
import type { AgentChild, ChildLaunch, StartChild } from "../wire/agent-child.ts";
import { residentMemory } from "./resident-memory.ts";

/**
 * The program of the relay. It starts the agent on its own standard streams, so that no byte passes through it, and waits. The gateway
 * holds the other end of the relay's channel. Once that end closes, the relay gives the agent a second to exit and then kills it; on
 * Windows also every process that the agent started. The relay is the agent's parent, so the system cannot give the agent's process id
 * to another process meanwhile.
 */
const program = `
const { spawn } = require("node:child_process");
const { command, args, windowsVerbatimArguments } = JSON.parse(process.argv[1]);
const agent = spawn(command, args, { stdio: "inherit", windowsHide: true, windowsVerbatimArguments });
const kill = () => {
  if (process.platform !== "win32") return agent.kill("SIGKILL");
  const taskkill = (process.env.SystemRoot || "C:\\\\Windows") + "\\\\System32\\\\taskkill.exe";
  const killing = spawn(taskkill, ["/T", "/F", "/PID", String(agent.pid)], { stdio: "ignore", windowsHide: true });
  killing.on("error", () => agent.kill("SIGKILL"));
};
process.on("message", kill);
process.on("disconnect", () => setTimeout(kill, 1000));
agent.on("spawn", () => process.connected && process.send(agent.pid, () => {}));
agent.on("error", () => process.exit(127));
agent.on("exit", (code, signal) => (signal === null ? process.exit(code) : process.kill(process.pid, signal)));
`;

/** An agent's process. It may differ from the process that was started, which can be a relay. */
export interface SpawnedProcess {
  readonly child: ChildProcess;
  /** The agent's own process id; the relay's id until the relay has reported the agent's. */
  readonly pid: () => number | undefined;
  /** Ends the agent and what it started: at once, or as the agent takes the signal. */
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => void;
}

/**
 * Starts an agent below a relay that ends it when this process is gone, however this process ended: a way that needs no POSIX shell.
 *
 * @throws MillraceError `invalid_request` for an argument that `startable` refuses.
 */
function spawnBelowRelay({ command, args, cwd, environment }: ChildLaunch): SpawnedProcess {
  const agent = startable(command, args, { env: environment });
  const child = spawn(process.execPath, ["-e", program, "--", JSON.stringify(agent)], {
    cwd,
    env: { ...environment },
    windowsHide: true,
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  });
  let pid = child.pid;
  child.once("message", (told) => {
    if (typeof told === "number") pid = told;
  });
  return {
    child,
    pid: () => pid,
    kill: (signal) => {
      if (signal === "SIGKILL" && child.connected) child.send("kill", () => {});
    },
  };
}

/** Marks an agent and all that it starts: a process that leaves the group keeps it in its environment. */
const markName = "MILLRACE_AGENT";

/**
 * Keeps an agent from outliving the gateway, also after a `kill -9`. The shell leaves a reader of descriptor 3 behind and becomes the
 * agent. The gateway holds the other end. When the gateway dies, the reader wakes and gives the agent a second to exit. Then it kills
 * the marked processes, where the system shows environments below /proc, and the process group: the agent, every process that the agent
 * started, and the reader.
 */
const lifeline =
  '(trap "" HUP INT TERM; read -r _ <&3; sleep 1; for p in /proc/[0-9]*; do ' +
  `grep -qs "${markName}=$0" "$p/environ" && kill -KILL "\${p#/proc/}"; done; kill -KILL 0) </dev/null >/dev/null 2>&1 & ` +
  `export ${markName}="$0"; exec "$@" 3<&-`;

const errorTailChars = 8_192;
const shell = "/bin/sh";
/** A second after the agent, the reader of the lifeline ends the rest of the group; after that no process holds the agent's pipe. */
const drainMs = 2_000;

/**
 * Starts an agent that ends with this process. With a POSIX shell the agent is a process group with a lifeline; on Windows it
 * runs below a relay.
 */
export const spawnChild: StartChild = startChild;

/** The same, for a host, which also keeps what the process writes. */
export function startChild(launch: ChildLaunch, clock: Clock): Promise<SpawnedChild> {
  const hasGroups = process.platform !== "win32" && existsSync(shell); // "/bin/sh" may be a file of Windows too, which it cannot run
  return started(hasGroups ? spawnGroup(launch) : spawnBelowRelay(launch), clock);
}

/** The same below a relay, on every system. */
export const spawnRelayedChild: StartChild = (launch, clock) => started(spawnBelowRelay(launch), clock);

function spawnGroup({ command, args, cwd, environment }: ChildLaunch): SpawnedProcess {
  const mark = `millrace-agent-${randomUUID()}`;
  const child = spawn(shell, ["-c", lifeline, mark, command, ...args], {
    cwd,
    env: { ...environment },
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  const pid = () => child.pid;
  // The reader of the lifeline outlives the agent's own process, and ends the others.
  const kill = (signal: "SIGTERM" | "SIGKILL") =>
    child.pid !== undefined && process.kill(signal === "SIGTERM" ? -child.pid : child.pid, signal);
  return { child, pid, kill };
}

async function started(spawned: SpawnedProcess, clock: Clock): Promise<SpawnedChild> {
  const { child } = spawned;
  const begun = new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  try {
    await begun;
  } catch (error) {
    throw new MillraceError("upstream_failed", "The agent's program could not be started.", {
      hint: "Check the agent's command in the configuration; `millrace doctor` shows which programs were found.",
      cause: error,
    });
  }
  return new SpawnedChild(spawned, clock);
}

/** A process below this one. */
export class SpawnedChild implements AgentChild {
  readonly exited: Promise<string>;
  readonly #spawned: SpawnedProcess;
  readonly #ownPid: number;
  readonly #clock: Clock;
  readonly #input: Writable;
  readonly #output: Readable;
  readonly #errors: Readable;
  #errorTail = "";
  #gone = false;
  heardMs: number;

  constructor(spawned: SpawnedProcess, clock: Clock) {
    const { child } = spawned;
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null)
      throw new MillraceError("internal", "A process of an agent was started without its pipes.");
    this.#spawned = spawned;
    this.#ownPid = pid;
    this.#clock = clock;
    this.heardMs = clock.monotonic();
    this.#input = stdin;
    this.#output = stdout;
    this.#errors = stderr;
    const line = child.stdio[3];
    stdin.on("error", () => {}); // the process ended: `exit` reports that
    line?.on("error", () => {}); // as above
    stderr.setEncoding("utf8");
    stderr.on("data", (text: string) => {
      this.heardMs = clock.monotonic();
      this.#errorTail = (this.#errorTail + text).slice(-errorTailChars);
    });
    // The last output is read before the end is reported, unless a child of the process keeps the pipe open.
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

  get pid(): number {
    return this.#spawned.pid() ?? this.#ownPid;
  }

  write(text: string): void {
    if (!this.#gone) this.#input.write(text);
  }

  onText(listener: (text: string) => void): void {
    this.#output.setEncoding("utf8");
    this.#output.on("data", (text: string) => {
      this.heardMs = this.#clock.monotonic();
      listener(text);
    });
  }

  /** Two rounds of the event loop: this round may have begun before the text was there, and the next one reads it. */
  async caughtUp(): Promise<void> {
    for (let round = 0; round < 2; round++) await new Promise((resolve) => setImmediate(resolve));
  }

  errorTail(): string {
    return this.#errorTail;
  }

  /** Called with each piece of standard error. */
  onErrors(listener: (text: string) => void): void {
    this.#errors.on("data", listener);
  }

  /** Whether standard output is left unread for now; the process then waits once the pipe is full. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#output.pause();
    else if (this.#output.isPaused()) this.#output.resume();
  }

  async end(graceMs: number): Promise<void> {
    this.#input.end();
    if ((await within(this.exited, graceMs / 3, this.#clock)) === undefined) this.#kill("SIGTERM"); // Codex ignores the end of its input
    if ((await within(this.exited, (graceMs * 2) / 3, this.#clock)) === undefined) this.#kill("SIGKILL");
    await this.exited;
  }

  async rssBytes(): Promise<number | undefined> {
    return this.#gone ? undefined : await residentMemory(this.pid);
  }

  #kill(signal: "SIGTERM" | "SIGKILL"): void {
    try {
      this.#spawned.kill(signal);
    } catch {
      // it has ended meanwhile
    }
  }
}
