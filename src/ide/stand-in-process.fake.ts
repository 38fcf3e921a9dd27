import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Host } from "./host/host.ts";
import type { Probe } from "./process/probe-port.ts";

/** A real process that looks like what its argv says, for tests of discovery. */
export interface StandIn {
  readonly pid: number;
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

export interface StandInOptions {
  /** The value of argv[0]. */
  readonly program: string;
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The token its first port takes. */
  readonly token: string;
  readonly ports?: number;
  readonly port?: number;
  readonly address?: string;
  /** Lets other processes of this user listen on its ports too, as both must ask for. */
  readonly reusePort?: boolean;
  readonly uid?: number;
}

const script = fileURLToPath(new URL("fixtures/stand-in-process.mjs", import.meta.url));

export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  const { ports, port, address, token, reusePort } = options;
  const child = spawn(process.execPath, [script, ...options.flags], {
    argv0: options.program,
    env: { ...options.environment, STAND_IN: JSON.stringify({ ports, port, address, token, reusePort }) },
    stdio: ["pipe", "pipe", "inherit"],
    ...(options.uid === undefined ? {} : { uid: options.uid }),
  });
  const line = await firstLine(child);
  return {
    pid: child.pid ?? 0,
    ports: JSON.parse(line) as number[], // written by our own script
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) resolve(text);
    });
    child.once("exit", (code) => reject(new Error(`the stand-in ended with ${code} before it listened`)));
    child.once("error", reject);
  });
}

/** Asks a stand-in's port the way the real prober asks a real one: with the token, and nothing else. */
export const probeStandIn: Probe = async ({ host, port, csrfToken }, signal) => {
  const response = await fetch(`http://${host}:${port}/`, {
    headers: { "x-codeium-csrf-token": csrfToken.reveal() },
    signal,
  });
  await response.arrayBuffer();
  if (response.status === 200) return { ok: true, protocol: "grpc", tls: false };
  if (response.status === 401) return { ok: false, reason: "token_refused", why: "refuses the CSRF token" };
  return { ok: false, reason: "not_found", why: "no language server service (404)" };
};

/** The same host, as if only these processes existed: other tests' processes do not disturb. */
export function onlyProcesses(host: Host, pids: () => readonly number[]): Host {
  return {
    ...host,
    async listProcesses(select, signal) {
      const list = await host.listProcesses(select, signal);
      if (!list.ok) return list;
      return {
        ok: true,
        value: { ...list.value, processes: list.value.processes.filter(({ pid }) => pids().includes(pid)) },
      };
    },
  };
}
