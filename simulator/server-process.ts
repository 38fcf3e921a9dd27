import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/base/clock.ts";
import type { PlanUse } from "./account/plan.ts";
import { JsonRpc } from "./acp/json-rpc.ts";
import type { ServerCalls, ServerPorts, StartOrder } from "./control.ts";

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
  const rpc = new JsonRpc((line) => child.send(line, () => {})); // a child that is gone already says so by `exited`
  child.on("message", (line) =>
    // what its own JsonRpc sends
    rpc.receive(line as string, async (notice, use) => {
      if (notice === "restart") options.onRestartWanted();
      else if (notice === "spent") options.onSpent(use as PlanUse); // our own server has made it
      return { result: null };
    }),
  );
  void exited.then(() => rpc.end(new Error("the simulated language server ended")));
  const call: ServerCall = (name, ...given) => {
    if (!child.connected) return Promise.reject(new Error("the simulated language server is not running"));
    return rpc.begin(name, given).reply as ReturnType<typeof call<typeof name>>; // main.ts answers each name with its own type
  };
  const limit = new AbortController();
  const ports = await Promise.race([
    call("start", options.order).catch(() => undefined),
    systemClock.sleep(startLimitMs, limit.signal).catch(() => undefined),
  ]);
  limit.abort();
  if (ports === undefined || child.pid === undefined) {
    child.kill("SIGKILL");
    await exited;
    throw new Error(`The simulated language server did not start. It wrote:\n${log}`);
  }
  return {
    pid: child.pid,
    ports,
    exited,
    call,
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
