import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/base/clock.ts";
import type { PlanUse } from "./account/plan.ts";
import type { Notice, ServerCalls, ServerPorts, StartOrder } from "./control.ts";

/** The running language server, seen from its editor. */
export interface SimulatedServer {
  readonly pid: number;
  readonly ports: ServerPorts;
  /** Resolves when the process has ended, however it did. */
  readonly exited: Promise<void>;
  readonly call: ServerCall;
  /** Closes the parent pipe: the server ends in good order. */
  end(): Promise<void>;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
}

type ServerCall = <Name extends keyof ServerCalls>(
  name: Name,
  ...given: Parameters<ServerCalls[Name]>
) => Promise<Awaited<ReturnType<ServerCalls[Name]>>>;

interface Spawn {
  readonly binary: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly order: StartOrder;
  /** The server asks to be replaced. */
  readonly onRestartWanted: () => void;
  /** A turn took something from the plan. */
  readonly onSpent: (use: PlanUse) => void;
}

const startLimitMs = 30_000;

/** The entry of the server process, beside this module: sources start sources, the bundle starts the bundle. */
const ownEntry = import.meta.url.endsWith(".ts") ? "./main.ts" : "./simulated-server.js";

/** A bundle of the sources in its place, where the environment names one: it starts sooner. */
const entry = process.env["MILLRACE_SIMULATED_SERVER"] ?? fileURLToPath(new URL(ownEntry, import.meta.url));

/** Starts the server and waits until it listens. @throws Error with the server's output when it ends before that. */
export async function spawnServer(options: Spawn): Promise<SimulatedServer> {
  const child = spawn(options.binary, [entry, ...options.arguments], {
    cwd: options.cwd,
    env: options.environment,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    detached: false,
    windowsHide: true,
  });
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-4000);
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", (error) => {
      log += String(error);
      resolve();
    });
  });
  const channel = new Channel(child, options);
  void exited.then(() => channel.close());
  child.send(options.order, () => {}); // a child that is gone already says so by `exited`
  const limit = new AbortController();
  const ready = await Promise.race([
    channel.ready,
    exited.then(() => undefined),
    systemClock.sleep(startLimitMs, limit.signal).catch(() => undefined),
  ]);
  limit.abort();
  if (ready === undefined || child.pid === undefined) {
    child.kill("SIGKILL");
    throw new Error(`The simulated language server did not start. It wrote:\n${log}`);
  }
  return {
    pid: child.pid,
    ports: ready.ports,
    exited,
    call: channel.call,
    async end() {
      if (child.connected) child.disconnect();
      await exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

type Ready = Extract<Notice, { readonly kind: "ready" }>;

/** Calls and their answers over the channel of one child. */
class Channel {
  readonly ready: Promise<Ready>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  constructor(child: ChildProcess, editor: Pick<Spawn, "onRestartWanted" | "onSpent">) {
    this.#child = child;
    this.ready = new Promise((resolve) => {
      child.on("message", (notice: Notice) => {
        switch (notice.kind) {
          case "ready":
            resolve(notice);
            break;
          case "restart":
            editor.onRestartWanted();
            break;
          case "spent":
            editor.onSpent(notice.use);
            break;
          case "answer":
            this.#settle(notice.id)?.resolve(notice.answer);
            break;
          case "failed":
            this.#settle(notice.id)?.reject(new Error(notice.message));
            break;
          default:
            notice satisfies never;
        }
      });
    });
  }

  readonly call: ServerCall = (name, ...given) => {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    if (!this.#child.connected) this.#settle(id)?.reject(new Error("the simulated language server is not running"));
    else this.#child.send({ kind: "call", id, name, arguments: given }, () => {});
    return promise as ReturnType<typeof this.call<typeof name>>; // main.ts answers each name with its own type
  };

  close(): void {
    for (const id of this.#waiting.keys()) this.#settle(id)?.reject(new Error("the simulated language server ended"));
  }

  #settle(id: number) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}
