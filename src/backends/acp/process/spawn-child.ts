import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { MillraceError } from "../../../base/errors.ts";
import type { AgentChild, ChildLaunch, StartChild } from "./agent-child.ts";
import { type Spawned, spawnBelowRelay } from "./relay.ts";
import { residentMemory } from "./resident-memory.ts";

/**
 * Keeps an agent from outliving the gateway, also after a `kill -9`. The shell leaves a reader of descriptor 3 behind and becomes the
 * agent. The gateway holds the other end. When the gateway dies, the reader wakes and gives the agent a second to exit. Then it kills
 * the process group: the agent, every process that the agent started, and the reader.
 */
const lifeline =
  '(trap "" HUP INT TERM; read -r _ <&3; sleep 1; kill -KILL 0) </dev/null >/dev/null 2>&1 & exec "$@" 3<&-';

const errorTailChars = 8_192;
const shell = "/bin/sh";
/** A second after the agent, the reader of the lifeline ends the rest of the group; after that no process holds the agent's pipe. */
const drainMs = 2_000;

/**
 * Starts an agent that ends with this process. With a POSIX shell the agent is a process group with a lifeline; on Windows it
 * runs below a relay.
 */
export const spawnChild: StartChild = (launch, clock) =>
  started(existsSync(shell) ? spawnGroup(launch) : spawnBelowRelay(launch), clock);

/** The same below a relay, on every system. */
export const spawnRelayedChild: StartChild = (launch, clock) => started(spawnBelowRelay(launch), clock);

function spawnGroup({ command, args, cwd, environment }: ChildLaunch): Spawned {
  const child = spawn(shell, ["-c", lifeline, "millrace-agent", command, ...args], {
    cwd,
    env: { ...environment },
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  const pid = () => child.pid;
  return { child, pid, kill: () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL") };
}

async function started(spawned: Spawned, clock: Clock): Promise<AgentChild> {
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

class SpawnedChild implements AgentChild {
  readonly exited: Promise<string>;
  readonly #spawned: Spawned;
  readonly #ownPid: number;
  readonly #clock: Clock;
  readonly #input: Writable;
  readonly #output: Readable;
  #errorTail = "";
  #gone = false;

  constructor(spawned: Spawned, clock: Clock) {
    const { child } = spawned;
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null)
      throw new MillraceError("internal", "A process of an agent was started without its pipes.");
    this.#spawned = spawned;
    this.#ownPid = pid;
    this.#clock = clock;
    this.#input = stdin;
    this.#output = stdout;
    const line = child.stdio[3];
    stdin.on("error", () => {}); // the process ended: `exit` reports that
    line?.on("error", () => {}); // as above
    stderr.setEncoding("utf8");
    stderr.on("data", (text: string) => {
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
    return this.#gone ? undefined : await residentMemory(this.pid);
  }

  #kill(): void {
    try {
      this.#spawned.kill();
    } catch {
      // it has ended meanwhile
    }
  }
}
