import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bestEffort, orAborted, timeLimit, within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { writeJson } from "../../../base/json.ts";
import { type Doors, defaultDoors, removeDeadDoors } from "../../../base/node/door.ts";
import { shortPath } from "../../../base/node/socket-address.ts";
import type { AgentChild, ChildLaunch } from "../wire/agent-child.ts";
import { HostedChild, HostRefusal } from "./hosted-child.ts";
import { ask, isGone } from "./order-host.ts";
import { spawnChild } from "./spawn-child.ts";
import { type HostLook, type HostOptions, readyWord } from "./wire.ts";

/** The entry of a host's process, beside this module: sources start sources, the bundle starts the bundle. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./agent-host.js", import.meta.url),
);
/** A host has little to do: it gives memory back early. */
const nodeFlags =
  process.versions["bun"] === undefined ? ["--no-warnings", "--max-semi-space-size=1", "--optimize-for-size"] : [];

const startMs = 20_000;
const otherLookMs = 500;
/** So long a prompt is waited for that may itself wait for a client's results. */
const otherMs = 10 * 60_000;

export interface HostsOptions {
  /** Where the doors of all hosts are. */
  readonly folder: string;
  readonly agent: string;
  /** How long a host waits for the next gateway where no prompt runs; 10 min by default. */
  readonly aloneMs?: number;
  readonly doors?: Doors | undefined;
  /** Called with the reason where an agent's host could not be started. */
  readonly onHostless?: (why: string) => void;
}

/** Why no host can be started here; undefined where one can. */
export function hostless({ folder, doors = defaultDoors }: Pick<HostsOptions, "folder" | "doors">): string | undefined {
  return doors.pipes === undefined && shortPath(doorIn(folder, "00000000", "00000000")).address === undefined
    ? `the path of ${folder} is too long for a socket, and so is the one of the folder for temporary files`
    : undefined;
}

/** The hosts of one agent: starts them, and takes over those that an earlier gateway left. */
export class AgentHosts {
  readonly #options: HostsOptions;
  readonly #clock: Clock;
  /** The doors of the hosts that this gateway has or has left, and whether its connection there is over. */
  readonly #own = new Map<string, "open" | "over">();
  /** Hosts of builds whose messages this one cannot read, until they end. */
  readonly #others = new Map<string, Promise<void>>();

  constructor(options: HostsOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Starts an agent in a host, which outlives this process. An agent whose host cannot be started ends with this process. */
  async start(launch: ChildLaunch): Promise<AgentChild> {
    const { folder, agent, aloneMs = 600_000, doors = defaultDoors, onHostless } = this.#options;
    const door = doorIn(folder, markOf(agent), randomUUID().slice(0, 8));
    this.#own.set(door, "open");
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const there = await doorsIn(folder);
      for (const [its, state] of this.#own) if (state === "over" && !there.includes(its)) this.#own.delete(its);
      return this.#has(door, await startHost({ launch, agent, door, doors, aloneMs }, this.#clock));
    } catch (error) {
      this.#own.set(door, "over");
      onHostless?.(hostless(this.#options) ?? (error as Error).message);
      return await spawnChild(launch, this.#clock);
    }
  }

  /**
   * Connects to the hosts that this gateway does not have. `isBusy`: there is one that cannot be had now, because the gateway before still
   * has it, or because it did not answer. Hosts of other builds end once they are idle. Rejects where the folder cannot be read.
   */
  async takeOver(
    signal: AbortSignal,
  ): Promise<{ readonly children: readonly HostedChild[]; readonly isBusy: boolean }> {
    const { folder, agent } = this.#options;
    const doors = await doorsIn(folder, markOf(agent));
    const left = doors.filter((door) => !this.#own.has(door) && !this.#others.has(door));
    const found = await Promise.all(left.map((door) => this.#open(door, signal)));
    return { children: found.filter((child) => child instanceof HostedChild), isBusy: found.includes("busy") };
  }

  /** Removes the doors of hosts that were killed, also of agents that are configured no more. Never rejects. */
  async sweep(): Promise<void> {
    await removeDeadDoors(this.#options.folder, (name) => name.endsWith(doorEnding));
  }

  /**
   * Resolves once no host is left that this build cannot read: the sessions of their prompts can be opened then. `onWait` is called each
   * half second. Rejects with the signal's reason.
   */
  async othersOver(signal: AbortSignal, onWait: () => void = () => {}): Promise<void> {
    while (this.#others.size > 0) {
      onWait();
      await within(Promise.all(this.#others.values()), otherLookMs, this.#clock);
      signal.throwIfAborted();
    }
  }

  #has(door: string, child: HostedChild): HostedChild {
    this.#own.set(door, "open");
    void child.exited.then(() => this.#own.set(door, "over"));
    return child;
  }

  async #open(door: string, signal: AbortSignal): Promise<HostedChild | "busy" | undefined> {
    try {
      const child = await HostedChild.open(door, "successor", this.#clock);
      return this.#has(door, child);
    } catch (error) {
      if (isGone(error)) return undefined;
      if (!(error instanceof HostRefusal) || error.why === "busy") return "busy";
      const over = bestEffort(this.#other(door, signal)).then(() => void this.#others.delete(door));
      this.#others.set(door, over);
      return undefined;
    }
  }

  /** Ends a host of another build once no prompt runs in it, or after ten minutes. */
  async #other(door: string, signal: AbortSignal): Promise<void> {
    const untilMs = this.#clock.monotonic() + otherMs;
    for (;;) {
      const look = await ask(door, { type: "look" }).catch(() => ({ running: undefined }));
      if (look === undefined) return;
      if (look.running === 0 || this.#clock.monotonic() >= untilMs) break;
      await this.#clock.sleep(otherLookMs, signal);
    }
    await endHost(door);
  }
}

/** What each host of this folder says of itself. A door without a host is removed. */
export async function lookAtHosts(folder: string): Promise<readonly HostLook[]> {
  const look = (door: string) => ask(door, { type: "look" }).catch(() => undefined);
  const looks = await Promise.all((await doorsIn(folder).catch(() => [])).map(look));
  return looks.filter((look) => look !== undefined);
}

/** Ends every host of this folder, and its agent. Resolves once all of them are gone, with what they said before. */
export async function endHosts(folder: string): Promise<readonly HostLook[]> {
  const looks = await lookAtHosts(folder);
  await Promise.all((await doorsIn(folder).catch(() => [])).map(endHost));
  return looks;
}

/** Resolves once the host is gone. */
async function endHost(door: string): Promise<void> {
  await bestEffort(ask(door, { type: "end", graceMs: 1_500 })); // it ends without an answer
}

/** Starts a host's process and connects to it. */
async function startHost(options: HostOptions, clock: Clock): Promise<HostedChild> {
  const host = spawn(process.execPath, [...nodeFlags, program], {
    detached: true,
    windowsHide: true,
    stdio: ["pipe", "pipe", "ignore"],
    env: {},
  });
  try {
    // its input stays open until the host has this gateway: where this process ends before, the host ends too
    await orAborted(
      new Promise<void>((resolve, reject) => {
        host.once("error", reject);
        host.once("exit", () => reject(new Error("the host ended at its start")));
        host.stdout.once("data", (said) => (String(said) === readyWord ? resolve() : reject(new Error("no host"))));
        host.stdin.on("error", () => {}); // `exit` reports that
        host.stdin.write(`${writeJson(options)}\n`);
      }),
      timeLimit(startMs),
    );
    host.unref();
    host.stdout.destroy();
    const child = await HostedChild.open(options.door, "starter", clock);
    host.stdin.end();
    return child;
  } catch (error) {
    host.kill("SIGKILL");
    throw error;
  }
}

async function doorsIn(folder: string, mark = ""): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  return names.filter((name) => name.startsWith(mark) && name.endsWith(doorEnding)).map((name) => join(folder, name));
}

const doorEnding = ".agent";

/** The file names of two agents begin differently, and tell nothing. */
function markOf(agent: string): string {
  return createHash("sha256").update(agent).digest("hex").slice(0, 8);
}

function doorIn(folder: string, mark: string, id: string): string {
  return join(folder, `${mark}-${id}${doorEnding}`);
}
