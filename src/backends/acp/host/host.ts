import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import process from "node:process";
import { bestEffort, notNeeded } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { isObject, parseJson, writeJson } from "../../../base/json.ts";
import { type Door, openDoor } from "../../../base/node/door.ts";
import { isReply, longestLine, TextLines } from "../wire/lines.ts";
import { GatewayConnection } from "./gateway-connection.ts";
import type { LineLog } from "./line-log.ts";
import type { SpawnedChild } from "./spawn-child.ts";
import {
  type HostLook,
  type HostOptions,
  type LinesLost,
  type Order,
  type Refusal,
  type ToldNote,
  type Welcome,
  wireVersion,
} from "./wire.ts";

/** So much of the agent's output is kept; then its pipe is not read until a gateway has read it. */
const mostBytes = 64 * 1024 * 1024;
/** So much of it may be in memory, where the disk does not take it. */
const mostMemoryBytes = 16 * 1024 * 1024;
const lookEveryMs = 10_000;
/** Without a gateway the agent ends after so long also if a prompt runs: it may wait for an answer of ours. */
const longestAloneMs = 60 * 60_000;
const endGraceMs = 1_500;

interface HostParts {
  readonly options: HostOptions;
  /** The agent's process. */
  readonly child: Pick<
    SpawnedChild,
    "pid" | "write" | "onText" | "caughtUp" | "onErrors" | "errorTail" | "hold" | "end" | "exited"
  >;
  readonly log: LineLog;
  readonly clock: Clock;
  /** Called once nobody needs the host any more: its door is gone. */
  readonly onOver: () => void;
  /** As the constant of that name. */
  readonly mostBytes?: number;
}

/**
 * Keeps one agent while gateways come and go. It numbers and keeps each line that the agent writes, and hands the lines to the gateway
 * that is connected. It knows nothing of ACP but the ids of prompts that run.
 */
export class AgentHost {
  readonly #options: HostOptions;
  readonly #child: HostParts["child"];
  readonly #log: LineLog;
  readonly #clock: Clock;
  readonly #onOver: () => void;
  readonly #mostBytes: number;
  #door: Door | undefined;
  readonly #lines = new TextLines(longestLine);
  readonly #running = new Set<number>();
  readonly #sinceMs: number;
  #state: string | null = null;
  readonly #parts = new Map<string, string>();
  /** How many prompts ran by the last note. */
  #noted = 0;
  #lost: LinesLost | undefined;
  #keep = 0;
  #read = 0;
  #gateways = 0;
  #connection: GatewayConnection | undefined;
  /** Since when no gateway is here, and no prompt runs either; of the monotonic clock. */
  #aloneSinceMs: number;
  #idleSinceMs: number;
  #ended: string | undefined;
  readonly #over = new AbortController();

  constructor({ options, child, log, clock, onOver, mostBytes: most = mostBytes }: HostParts) {
    this.#options = options;
    this.#child = child;
    this.#log = log;
    this.#clock = clock;
    this.#onOver = onOver;
    this.#mostBytes = most;
    this.#sinceMs = clock.now();
    this.#aloneSinceMs = clock.monotonic();
    this.#idleSinceMs = this.#aloneSinceMs;
    child.onText((text) => this.#heard(text));
    child.onErrors((errors) => this.#connection?.tell({ errors }));
    void child.exited.then((how) => this.#exited(how));
    void bestEffort(this.#watch());
  }

  /** Resolves once gateways can connect. Rejects as the system does. */
  listen(): Promise<void> {
    this.#door = openDoor(this.#options.door, this.#options.doors, (socket) => this.#connected(socket));
    return this.#door.opened;
  }

  /** The gateway that started this process has the agent, or is gone. In the second case nobody knows of the agent. */
  starterLeft(): void {
    if (this.#gateways === 0) void this.end(0);
  }

  /** Ends the agent; this process ends once a gateway that is connected knows it. */
  async end(graceMs: number): Promise<void> {
    this.#running.clear();
    this.#noted = 0; // nobody waits for an answer any more
    await this.#child.end(graceMs);
  }

  #connected(socket: Socket): void {
    const lines = new TextLines(Number.POSITIVE_INFINITY);
    socket.setEncoding("utf8");
    const left = () => {
      if (this.#connection?.socket === socket) this.#left();
    };
    socket.on("data", (text: string) => {
      try {
        for (const line of lines.feed(text)) this.#ordered(socket, parseJson(line) as Order); // a gateway's, of this user
      } catch {
        socket.destroy(); // no gateway: the agent lives on, and waits for one
      }
    });
    socket.on("end", left);
    socket.on("close", left);
  }

  #ordered(socket: Socket, order: Order): void {
    switch (order.type) {
      case "hello":
        this.#welcome(socket, order);
        break;
      case "look":
        socket.end(`${writeJson(this.#seen)}\n`);
        break;
      case "catch_up":
        void this.#catchUp(socket);
        break;
      case "end":
        void this.end(order.graceMs);
        break;
      case "tell":
        if (this.#connection?.socket === socket) this.#told(order);
        break;
      default:
        order satisfies never;
    }
  }

  async #catchUp(socket: Socket): Promise<void> {
    await this.#child.caughtUp();
    if (this.#connection?.socket === socket) this.#connection.tell({ caughtUp: true });
  }

  get #seen(): HostLook {
    const { pid } = this.#child;
    return {
      version: wireVersion,
      hostPid: process.pid,
      pid,
      agent: this.#options.agent,
      sinceMs: this.#sinceMs,
      served: this.#connection !== undefined,
      running: this.#running.size,
      unread: this.#connection === undefined ? this.#noted - this.#running.size : 0,
    };
  }

  /** One that is refused looks again: the system may not have closed the connection of a gateway that has ended. */
  #welcome(socket: Socket, { role }: Order & { readonly type: "hello" }): void {
    const isFree = this.#connection === undefined && (this.#gateways > 0 || role === "starter");
    if (isFree) this.#serve(socket);
    else socket.end(`${writeJson({ refused: "busy" } satisfies Refusal)}\n`);
  }

  #serve(socket: Socket): void {
    const welcome: Welcome = {
      version: wireVersion,
      hostPid: process.pid,
      pid: this.#child.pid,
      earlier: this.#gateways++,
      first: Math.max(this.#keep, this.#log.first),
      read: this.#read,
      state: this.#state,
      parts: Object.fromEntries(this.#parts),
      ...(this.#lost === undefined ? {} : { lost: this.#lost }),
      errors: this.#child.errorTail(),
    };
    this.#connection = new GatewayConnection(socket, welcome, this.#log, () => this.#flow());
    if (this.#lines.isMidLine) this.#connection.tell({ half: true });
    if (this.#ended !== undefined) this.#connection.tell({ ended: this.#ended });
  }

  #left(): void {
    this.#connection = undefined;
    this.#aloneSinceMs = this.#clock.monotonic();
    this.#idleSinceMs = this.#aloneSinceMs;
    if (this.#ended !== undefined && this.#isRead) this.#exit();
    if (this.#state === null) void this.end(endGraceMs); // its agent was never greeted
  }

  #told({ read, write, note }: Order & { readonly type: "tell" }): void {
    this.#read = Math.max(this.#read, read);
    if (note !== undefined) this.#note(note);
    if (write !== undefined) this.#child.write(write);
  }

  #note({ state, parts, keep, running }: ToldNote): void {
    this.#state = state;
    for (const [name, part] of Object.entries(parts)) {
      if (part === null) this.#parts.delete(name);
      else this.#parts.set(name, part);
    }
    this.#noted = running.length;
    this.#keep = keep;
    this.#running.clear();
    for (const id of running) this.#running.add(id);
    this.#log.drop(keep);
    this.#flow();
  }

  #heard(text: string): void {
    try {
      const lines = this.#lines.feed(text);
      if (lines.length > 0) this.#log.append(lines);
      for (const line of lines) this.#noteReply(line);
    } catch {
      void this.end(0); // a line without end
      return;
    }
    this.#connection?.pump();
    if (this.#lines.isMidLine) this.#connection?.tell({ half: true });
    this.#flow();
  }

  #noteReply(line: string): void {
    if (this.#running.size === 0 || !line.includes('"id"')) return;
    try {
      const message = parseJson(line);
      if (!isObject(message) || message["method"] !== undefined || !isReply(message)) return;
      if (this.#running.delete(Number(message["id"]))) this.#idleSinceMs = this.#clock.monotonic();
    } catch {
      // a line of another kind
    }
  }

  /** Stops reading the agent's pipe where too much is kept, and goes on once there is room. */
  #flow(): void {
    if (this.#connection?.hasAll === true && this.#isFull) {
      this.#lost = this.#log.memoryBytes > 0 ? "disk_full" : "too_many"; // the next gateway goes without, and says so
      this.#log.drop(this.#log.next);
    }
    this.#child.hold(this.#isFull);
  }

  get #isFull(): boolean {
    return this.#log.bytes > this.#mostBytes || this.#log.memoryBytes > mostMemoryBytes;
  }

  #exited(how: string): void {
    this.#ended = how;
    this.#idleSinceMs = this.#clock.monotonic();
    this.#connection?.tell({ ended: how });
    if (this.#connection === undefined && this.#isRead) this.#exit();
  }

  /** No answer of the agent waits for a gateway: no prompt ran by the last note, or that gateway has read all since. */
  get #isRead(): boolean {
    return this.#noted === 0 || this.#read >= this.#log.next;
  }

  async #watch(): Promise<void> {
    for (;;) {
      await this.#clock.sleep(lookEveryMs, this.#over.signal);
      this.#look();
    }
  }

  /** Nobody needs the agent any more, or its home was removed. */
  #look(): void {
    if (this.#connection !== undefined) return;
    const nowMs = this.#clock.monotonic();
    const works = this.#running.size > 0 && this.#ended === undefined;
    const isAwaited = works || nowMs - this.#idleSinceMs <= this.#options.aloneMs;
    if (isAwaited && nowMs - this.#aloneSinceMs <= longestAloneMs && existsSync(this.#options.door)) return;
    if (this.#ended !== undefined) this.#exit();
    else void this.end(endGraceMs);
  }

  #exit(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(notNeeded);
    this.#door?.close();
    this.#onOver();
  }
}
