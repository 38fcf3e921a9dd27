import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bestEffort, orAborted, within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { parseJson, writeJson } from "../../../base/json.ts";
import type { AgentChild, ChildHost, ChildLaunch, HostNote, StartChild } from "../wire/agent-child.ts";
import { type Doors, defaultDoors, dial, removeDeadDoors } from "../wire/door.ts";
import { TextLines } from "../wire/lines.ts";
import { shortPath } from "../wire/socket-address.ts";
import { residentMemory, spawnChild } from "./spawn-child.ts";
import {
  type GatewayRole,
  type HostLook,
  type HostOrders,
  type LinesLost,
  type News,
  type Order,
  oldestVersion,
  partsVersion,
  type Refusal,
  readyWord,
  type ToldNote,
  type Welcome,
  wireVersion,
} from "./wire.ts";

/** The entry of a host's process, beside this module: sources start sources, the bundle starts the bundle. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./agent-host.js", import.meta.url),
);
/** A host has little to do: it gives memory back early. */
const nodeFlags =
  process.versions["bun"] === undefined ? ["--no-warnings", "--max-semi-space-size=1", "--optimize-for-size"] : [];

const startMs = 20_000;
const helloMs = 10_000;
const hungMs = 5_000;
const errorTailChars = 8_192;
/** So many requests of one gateway have ids of their own. */
const idsEach = 1_000_000;

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
export function hostless({ folder, doors = defaultDoors }: Omit<HostsOptions, "agent">): string | undefined {
  return doors.pipes === undefined && shortPath(doorIn(folder, "00000000", "00000000")).address === undefined
    ? `the path of ${folder} is too long for a socket, and so is the one of the folder for temporary files`
    : undefined;
}

/** Starts agents in hosts, which outlive this process. An agent whose host cannot be started ends with this process. */
export function hostedStart(options: HostsOptions): StartChild {
  return async (launch, clock) => {
    try {
      return await startHost(options, launch, clock);
    } catch (error) {
      options.onHostless?.(hostless(options) ?? (error as Error).message);
      return await spawnChild(launch, clock);
    }
  };
}

/** Connects to the hosts of this agent that no gateway has, for a gateway that starts. Those of other builds end once they are idle. */
export async function freeHosts(
  { folder, agent }: HostsOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly HostedChild[]> {
  const doors = await doorsIn(folder, markOf(agent));
  const open = (door: string) =>
    HostedChild.open(door, { role: "successor" }, clock).catch((error: unknown) => {
      if (error instanceof OtherHost) void bestEffort(error.over(signal));
      return undefined;
    });
  const children = await Promise.all(doors.map(open));
  await removeDeadDoors(folder, (name) => name.endsWith(doorEnding)); // of agents that are configured no more
  return children.filter((child) => child !== undefined);
}

/**
 * Connects to the host of the agent that has this session. `busy`: another gateway needs it, or a host does not say what it has.
 * `OtherHost`: it has the session and cannot be read. Undefined: no host has it.
 */
export async function hostHolding(
  { folder, agent }: HostsOptions,
  session: string,
  clock: Clock,
): Promise<HostedChild | OtherHost | "busy" | undefined> {
  const doors = await doorsIn(folder, markOf(agent));
  const open = async (door: string) => {
    try {
      return await HostedChild.open(door, { role: "finder", session }, clock);
    } catch (error) {
      if (error instanceof OtherHost) return error;
      const isWithout = (error instanceof HostRefusal && error.why === "stranger") || isGone(error);
      return isWithout ? undefined : "busy";
    }
  };
  const found = await Promise.all(doors.map(open));
  return found.find((each) => each !== undefined && each !== "busy") ?? found.find((each) => each === "busy");
}

/** A host refuses this gateway. */
class HostRefusal extends Error {
  readonly why: Refusal["refused"];

  constructor(why: Refusal["refused"]) {
    super(`the host refuses: ${why}`);
    this.why = why;
  }
}

const otherLookMs = 500;
/** So long a prompt is waited for that may itself wait for a client's results. */
const otherMs = 10 * 60_000;

/** A host of a build whose lines this one cannot read: its prompts end as they would, and their sessions are read in a new process. */
export class OtherHost extends Error {
  readonly #door: string;
  readonly #clock: Clock;

  constructor(door: string, clock: Clock) {
    super("the host is of a build whose messages this one does not know");
    this.#door = door;
    this.#clock = clock;
  }

  /** Ends the host once no prompt runs in it, or after ten minutes. `onWait` is called each half second. Rejects with the signal's reason. */
  async over(signal: AbortSignal, onWait: () => void = () => {}): Promise<void> {
    const untilMs = this.#clock.monotonic() + otherMs;
    for (;;) {
      const look = await ask(this.#door, { type: "look" });
      if (look === undefined) return;
      if (look.running === 0 || this.#clock.monotonic() >= untilMs) break;
      onWait();
      await this.#clock.sleep(otherLookMs, signal);
    }
    await ask(this.#door, { type: "end", graceMs: 1_500 });
  }
}

/** What each host of this folder says of itself. A door without a host is removed. */
export async function lookAtHosts(folder: string): Promise<readonly HostLook[]> {
  const looks = await Promise.all((await doorsIn(folder)).map((door) => ask(door, { type: "look" })));
  return looks.filter((look) => look !== undefined);
}

/** Ends every host of this folder, and its agent. Resolves once all of them are gone, with what they said before. */
export async function endHosts(folder: string): Promise<readonly HostLook[]> {
  const looks = await lookAtHosts(folder);
  await Promise.all((await doorsIn(folder)).map((door) => ask(door, { type: "end", graceMs: 1_500 })));
  return looks;
}

async function startHost(
  { folder, agent, aloneMs = 600_000, doors = defaultDoors }: HostsOptions,
  launch: ChildLaunch,
  clock: Clock,
): Promise<HostedChild> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const door = doorIn(folder, markOf(agent), randomUUID().slice(0, 8));
  const orders: HostOrders = { launch, agent, door, doors, aloneMs };
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
        host.stdin.write(`${writeJson(orders)}\n`);
      }),
      AbortSignal.timeout(startMs),
    );
    host.unref();
    host.stdout.destroy();
    const child = await HostedChild.open(door, { role: "starter" }, clock);
    host.stdin.end();
    return child;
  } catch (error) {
    host.kill("SIGKILL");
    throw error;
  }
}

/** An agent in a host, which this process is connected to. */
export class HostedChild implements AgentChild, ChildHost {
  readonly host: ChildHost = this;
  readonly exited: Promise<string>;
  readonly #welcome: Welcome;
  readonly #socket: Socket;
  readonly #clock: Clock;
  #onExit: (how: string) => void = () => {};
  #read: number;
  #isRepeated = false;
  #note: HostNote | undefined;
  /** The parts of the note as the host has them. */
  #parts: Readonly<Record<string, string>>;
  #errors: string;
  #isGone = false;
  /** Calls of `caughtUp` that the host has not answered; it answers in order. */
  readonly #catchingUp: (() => void)[] = [];
  onWanted = () => false;
  heardMs: number;

  private constructor(socket: Socket, welcome: Welcome, clock: Clock) {
    this.#socket = socket;
    this.#welcome = welcome;
    this.#clock = clock;
    this.heardMs = clock.monotonic();
    this.#read = welcome.first;
    this.#errors = welcome.errors;
    this.#parts = welcome.parts ?? {};
    this.exited = new Promise((resolve) => {
      this.#onExit = (how) => {
        this.#tell({}); // all lines were read: the host may end
        this.#isGone = true;
        socket.end();
        for (const done of this.#catchingUp.splice(0)) done();
        resolve(how);
      };
    });
    socket.once("close", () => this.#onExit("its host ended"));
  }

  /** Rejects where no host listens; with a `HostRefusal` where it refuses, and with an `OtherHost` where its version is not known. */
  static async open(door: string, role: GatewayRole, clock: Clock): Promise<HostedChild> {
    const { socket, first } = await answered(door, { type: "hello", ...role });
    try {
      const welcome = parseJson(first) as Welcome | Refusal; // a host's
      if ("refused" in welcome) throw new HostRefusal(welcome.refused);
      if (welcome.version < oldestVersion || welcome.version > wireVersion) throw new OtherHost(door, clock);
      return new HostedChild(socket, welcome, clock);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** What the gateway before left here; undefined where it left nothing. */
  get state(): string | undefined {
    return this.#welcome.state ?? undefined;
  }

  /** As `HostNote` has them. */
  get parts(): Readonly<Record<string, string>> {
    return this.#welcome.parts ?? {};
  }

  /** Why the host gave up lines that the gateway before wanted kept; undefined where it has them all. */
  get lost(): LinesLost | undefined {
    return this.#welcome.lost;
  }

  get pid(): number {
    return this.#welcome.pid;
  }

  get read(): number {
    return this.#read;
  }

  get firstId(): number {
    return this.#welcome.earlier * idsEach + 1;
  }

  /** What is written while a line is handled that an earlier gateway handled too was written by that one. */
  write(text: string): void {
    if (!this.#isRepeated) this.#tell({ write: text });
  }

  note(note: HostNote): void {
    this.#note = note;
    queueMicrotask(() => {
      if (this.#note !== undefined) this.#tell({});
    });
  }

  async leave(): Promise<void> {
    if (this.#note !== undefined) this.#tell({});
    await new Promise<void>((resolve) => {
      if (this.#isGone) resolve();
      else this.#socket.end(resolve);
    });
  }

  onText(listener: (text: string) => void): void {
    const lines = new TextLines(Number.POSITIVE_INFINITY);
    this.#socket.on("data", (text: string) => {
      this.heardMs = this.#clock.monotonic();
      for (const line of lines.feed(text)) this.#hear(line, listener);
    });
    this.#socket.resume();
  }

  caughtUp(): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#catchingUp.push(resolve);
      this.#send({ type: "catch_up" });
    });
  }

  errorTail(): string {
    return this.#errors;
  }

  async end(graceMs: number): Promise<void> {
    if (!this.#isGone) this.#send({ type: "end", graceMs });
    if (this.#socket.isPaused()) this.onText(() => {});
    if ((await within(this.exited, graceMs + hungMs, this.#clock)) === undefined) killHost(this.#welcome.hostPid);
    await this.exited;
  }

  async rssBytes(): Promise<number | undefined> {
    return this.#isGone ? undefined : await residentMemory(this.pid);
  }

  #hear(line: string, listener: (text: string) => void): void {
    if (line.startsWith("<")) {
      this.#isRepeated = this.#read++ < this.#welcome.read;
      listener(`${line.slice(1)}\n`);
      this.#isRepeated = false;
      return;
    }
    const news = parseJson(line) as News; // a host's
    if ("half" in news)
      listener(news.half === true ? " " : news.half); // a blank begins a line, and changes none
    else if ("caughtUp" in news) this.#catchingUp.shift()?.();
    else if ("wanted" in news) {
      if (!this.onWanted() && !this.#isGone) this.#send({ type: "keep" });
    } else if ("errors" in news) this.#errors = (this.#errors + news.errors).slice(-errorTailChars);
    else this.#onExit(news.ended);
  }

  #tell(order: { readonly write?: string }): void {
    const note = this.#note === undefined ? {} : { note: this.#told(this.#note) };
    this.#note = undefined;
    if (!this.#isGone && this.#socket.writable) this.#send({ type: "tell", read: this.#read, ...order, ...note });
  }

  #told({ state, parts, ...note }: HostNote): ToldNote {
    if (this.#welcome.version < partsVersion)
      return { ...note, state: writeJson({ ...(parseJson(state) as object), parts }) };
    const before = this.#parts;
    this.#parts = parts;
    const names = new Set([...Object.keys(before), ...Object.keys(parts)]);
    const changed = [...names].filter((name) => before[name] !== parts[name]);
    return { ...note, state, parts: Object.fromEntries(changed.map((name) => [name, parts[name] ?? null])) };
  }

  #send(order: Order): void {
    this.#socket.write(`${writeJson(order)}\n`);
  }
}

function killHost(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended meanwhile
  }
}

/** Sends an order and takes the first line of the answer. The socket is paused then. */
async function firstLine(socket: Socket, order: Order): Promise<string> {
  socket.setEncoding("utf8");
  socket.write(`${writeJson(order)}\n`);
  return await new Promise((resolve, reject) => {
    let said = "";
    const hear = (text: string) => {
      said += text;
      const end = said.indexOf("\n");
      if (end < 0) return;
      socket.off("data", hear);
      socket.pause();
      const rest = said.slice(end + 1);
      if (rest !== "") socket.unshift(rest);
      socket.off("close", gone);
      resolve(said.slice(0, end));
    };
    const gone = () => reject(new Error(silentEnd));
    socket.on("error", reject);
    socket.on("close", gone);
    socket.on("data", hear);
  });
}

/** A connection to a host, with its answer to the first order. The door of a host that was killed is removed. */
async function answered(door: string, order: Order): Promise<{ readonly socket: Socket; readonly first: string }> {
  let socket: Socket | undefined;
  try {
    socket = await dial(door);
    return { socket, first: await orAborted(firstLine(socket, order), AbortSignal.timeout(helloMs)) };
  } catch (error) {
    socket?.destroy();
    if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") await rm(door, { force: true });
    throw error;
  }
}

/** A host's answer; undefined where it gives none. */
async function ask(door: string, order: Order): Promise<HostLook | undefined> {
  try {
    const { socket, first } = await answered(door, order);
    socket.destroy();
    return parseJson(first) as HostLook; // a host's
  } catch {
    return undefined;
  }
}

/** No host listens there any more, or it ended before it answered. */
function isGone(error: unknown): boolean {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return ["ECONNREFUSED", "ENOENT", "ECONNRESET", "EPIPE"].includes(code) || message === silentEnd;
}

const silentEnd = "the host ended before it answered";

async function doorsIn(folder: string, mark = ""): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
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
