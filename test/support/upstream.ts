import { join } from "node:path";
import process from "node:process";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/index.ts";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { pinnedTo } from "./pinned.ts";

/** Calls that arrived, by their names. */
export type Calls = Readonly<Record<string, number>>;

/** What the gateway of a crash or cut world asks: the language server of an IDE, or its agent program. */
export interface Upstream extends AsyncDisposable {
  readonly home: string;
  readonly model: string;
  /** More arguments for the gateway. */
  readonly args: readonly string[];
  /** Whether an answer may end cut where its agent is killed: it fails by name then. */
  readonly cuts: boolean;
  calls(): Promise<Calls>;
  /** Resolves once the calls pass; waits for changes. Throws the signal's reason. */
  untilCalled(passes: (calls: Calls) => boolean, signal: AbortSignal): Promise<void>;
  /** The texts of all prompts that it accepted. */
  prompts(): Promise<readonly string[]>;
  /** Waits until every conversation with a prompt is archived or deleted; `onCall` is told of each call meanwhile. */
  untilTidy(onCall: () => void, signal: AbortSignal): Promise<void>;
  /** How many of them are not. */
  untidy(): Promise<number>;
  /** Kills the processes of the agent, as `kill -9` does. */
  killAgent(): void;
  /** Kills the hosts of its processes. */
  killHosts(): Promise<void>;
}

export const upstreamNames = ["Cascade", "ACP"] as const;
export type UpstreamName = (typeof upstreamNames)[number];

/** Where a gateway is killed while it asks. */
export const callsOf: Readonly<Record<UpstreamName, readonly [string, ...string[]]>> = {
  Cascade: ["StartCascade", "SendUserCascadeMessage", "GetCascadeTrajectorySteps", "ArchiveCascadeTrajectory"],
  ACP: ["session/new", "session/set_config_option", "session/prompt", "session/load", "session/delete"],
};

export async function openUpstream(name: UpstreamName, turn: SimulatorOptions["turn"]): Promise<Upstream> {
  const options: SimulatorOptions = { turn, plan: { unlimited: true } };
  if (name === "Cascade") return cascade(await startSimulator(options));
  return acp(await startSimulator({ ...options, profile: "devin-3" }));
}

function cascade(simulator: Simulator): Upstream {
  return {
    home: simulator.home,
    model: "claude-sonnet-4.6",
    args: pinnedTo(simulator),
    cuts: false,
    calls: async () => (await simulator.report()).calls,
    async untilCalled(passes, signal) {
      await simulator.until(({ calls }) => passes(calls), signal);
    },
    prompts: async () => (await simulator.report()).messages.map(({ text }) => text),
    async untilTidy(onCall, signal) {
      await simulator.until(({ cascades }) => {
        onCall();
        return cascades.every(({ messages, archived }) => messages === 0 || archived);
      }, signal);
    },
    async untidy() {
      const { cascades } = await simulator.report();
      return cascades.filter(({ messages, archived }) => messages > 0 && !archived).length;
    },
    killAgent() {
      throw new Error("a language server has no agent");
    },
    killHosts: () => Promise.reject(new Error("a language server has no host")),
    [Symbol.asyncDispose]: () => simulator.stop(),
  };
}

function acp(simulator: Simulator): Upstream {
  const left = ({ prompts, deletes } = simulator.agentReport()) => {
    const deleted = new Set(deletes);
    return new Set(prompts.map(({ sessionId }) => sessionId).filter((id) => !deleted.has(id))).size;
  };
  return {
    home: simulator.home,
    model: "swe-1.6:slow", // it costs nothing, so that no quota ends
    args: [],
    cuts: true,
    calls: () => Promise.resolve(simulator.agentReport().calls),
    async untilCalled(passes, signal) {
      await simulator.untilAgent(({ calls }) => passes(calls), signal);
    },
    prompts: () => Promise.resolve(simulator.prompts().map(({ text }) => text)),
    async untilTidy(onCall, signal) {
      await simulator.untilAgent((report) => {
        onCall();
        return left(report) === 0;
      }, signal);
    },
    untidy: () => Promise.resolve(left()),
    killAgent() {
      for (const { pid, running } of simulator.agentReport().processes) if (running) killOnce(pid);
    },
    async killHosts() {
      const folder = join(simulator.home, ".millrace", "agents");
      for (const { hostPid } of await lookAtHosts(folder)) killOnce(hostPid);
    },
    [Symbol.asyncDispose]: () => simulator.stop(),
  };
}

function killOnce(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it may have died by itself
  }
}
