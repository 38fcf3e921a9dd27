import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { startable } from "../../../base/node/startable.ts";
import type { ChildLaunch } from "./agent-child.ts";

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
export function spawnBelowRelay({ command, args, cwd, environment }: ChildLaunch): SpawnedProcess {
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
