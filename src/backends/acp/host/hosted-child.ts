import type { Socket } from "node:net";
import process from "node:process";
import { within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { parseJson, writeJson } from "../../../base/json.ts";
import type { AgentChild, ChildHost, HostNote } from "../wire/agent-child.ts";
import { TextLines } from "../wire/lines.ts";
import { answered } from "./order-host.ts";
import { residentMemory } from "./resident-memory.ts";
import {
  type GatewayRole,
  type LinesLost,
  type News,
  type Order,
  type Refusal,
  type ToldNote,
  type Welcome,
  wireVersion,
} from "./wire.ts";

const hungMs = 5_000;
const errorTailChars = 8_192;
/** So many requests of one gateway have ids of their own. */
const idsEach = 1_000_000;

/** Why a gateway cannot have an agent. `busy`: the gateway before is still connected. `other_build`: this build cannot read that host. */
export class HostRefusal extends Error {
  readonly why: "busy" | "other_build";

  constructor(why: HostRefusal["why"]) {
    super(`the host cannot be had: ${why}`);
    this.why = why;
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
  heardMs: number;

  private constructor(socket: Socket, welcome: Welcome, clock: Clock) {
    this.#socket = socket;
    this.#welcome = welcome;
    this.#clock = clock;
    this.heardMs = clock.monotonic();
    this.#read = welcome.first;
    this.#errors = welcome.errors;
    this.#parts = welcome.parts;
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

  /** Rejects where no host listens, and with a `HostRefusal` where this gateway cannot have the agent. */
  static async open(door: string, role: GatewayRole, clock: Clock): Promise<HostedChild> {
    const { socket, first } = await answered(door, { type: "hello", role });
    try {
      const welcome = parseJson(first) as Welcome | Refusal; // a host's
      if ("refused" in welcome) throw new HostRefusal("busy");
      if (welcome.version !== wireVersion) throw new HostRefusal("other_build");
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
    return this.#welcome.parts;
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
      listener(" "); // it begins a line, and changes none
    else if ("caughtUp" in news) this.#catchingUp.shift()?.();
    else if ("errors" in news) this.#errors = (this.#errors + news.errors).slice(-errorTailChars);
    else this.#onExit(news.ended);
  }

  #tell(order: { readonly write?: string }): void {
    const note = this.#note === undefined ? {} : { note: this.#told(this.#note) };
    this.#note = undefined;
    if (!this.#isGone && this.#socket.writable) this.#send({ type: "tell", read: this.#read, ...order, ...note });
  }

  #told({ state, parts, ...note }: HostNote): ToldNote {
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
