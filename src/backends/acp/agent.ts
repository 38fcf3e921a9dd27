import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import type { Doors } from "../../base/node/door.ts";
import type { BackendLifecycle } from "../lifecycle.ts";
import { AgentHosts, type HostsOptions } from "./host/hosts.ts";
import type { AcpAgentSpec } from "./known/agent-spec.ts";
import { plainLaunch } from "./known/devin.ts";
import { AgentStarter, untilSlow } from "./process/agent-starter.ts";
import { agentError } from "./process/errors.ts";
import { agentFolder } from "./process/prepare-launch.ts";
import { ProcessPool } from "./process/process-pool.ts";
import { RelayHub } from "./relay/relay-hub.ts";
import { AgentProcess } from "./session/agent-process.ts";
import { MovedSessions } from "./session/moved-sessions.ts";
import { NativeKnowledge, type ToolWay } from "./session/native-knowledge.ts";
import { withEfforts } from "./session/session-options.ts";
import type { AgentParts } from "./turn/acp-turn.ts";
import { acpBackend } from "./turn/backend.ts";
import type { StartChild } from "./wire/agent-child.ts";
import type { AcpModel } from "./wire/session-offer.ts";

export type { AcpAgentSpec } from "./known/agent-spec.ts";
export type { AcpModel } from "./wire/session-offer.ts";

export interface AcpAgentOptions {
  readonly clock: Clock;
  /** How long a process without work is kept; 5 min by default. */
  readonly warmMs?: number;
  /** Without any sign of life for this long a turn fails with `upstream_timeout`; 5 min by default. */
  readonly silenceMs?: number;
  /** How long a resumed turn waits for a session that another process holds; 1 min by default. */
  readonly lockedMs?: number;
  /** Shortest time between two starts of a process after a failure, doubled with each further one; 2 s by default. */
  readonly restartMs?: number;
  /** How a client's tools reach the agent; `auto` by default. */
  readonly tools?: ToolWay;
  /** Starts a process; a real one by default. */
  readonly startChild?: StartChild;
  /** Where its processes outlive this one; undefined: they end with it. */
  readonly hosts?: Omit<HostsOptions, "agent" | "doors" | "onHostless">;
  /** How its hosts and its relays are found; as the system allows by default. */
  readonly doors?: Doors;
  readonly events?: EventSink<BackendLifecycle> | undefined;
}

/** An agent program that can be asked. Starts a process when one is needed, and ends all of them at `close`. */
export type AcpAgent = ReturnType<typeof openAcpAgent>;

/** Starts nothing yet. */
export function openAcpAgent(spec: AcpAgentSpec, options: AcpAgentOptions) {
  const {
    clock,
    warmMs = 5 * 60_000,
    silenceMs = 5 * 60_000, // clients give up after ten minutes; the error has to reach them before
    lockedMs = 60_000,
    restartMs = 2_000,
  } = options;
  const { startChild, doors } = options;
  const onHostless = (why: string) => options.events?.emit("agent_hostless", { agent: spec.name, why });
  const hosts = options.hosts && new AgentHosts({ ...options.hosts, agent: spec.name, doors, onHostless }, clock);
  const hub = new RelayHub(agentFolder(spec), doors);
  const shared = { hub, clock, knowledge: new NativeKnowledge(options.tools ?? "auto") };
  const starter = new AgentStarter(spec, { clock, startChild, hosts });
  const pool = new ProcessPool<AgentProcess>({
    clock,
    warmMs,
    restartMs,
    start: async (launch, onChild, signal) => new AgentProcess(await starter.start(launch, onChild, signal), shared),
    async takeOver(signal) {
      const { left, isBusy } = await starter.takeOver(signal);
      const adopted = left.map((each) => [each.key, AgentProcess.adopt(each, shared)] as const);
      swept ??= Promise.all([hosts?.sweep(), hub.sweep()]); // after the doors of these were made
      return { left: adopted, isBusy };
    },
  });
  let swept: Promise<unknown> | undefined;
  const moved = new MovedSessions(clock, starter.folder);
  let prompts = 0;
  const onPrompt = () => prompts++;
  const parts: AgentParts = { spec, clock, pool, hosts, moved, silenceMs, lockedMs, onPrompt };
  const signs = {
    name: spec.name,
    heardMs: () => Math.max(pool.startingHeardMs, ...pool.processes.map(({ child }) => child.heardMs)),
    method: () => (pool.processes.length === 0 ? "initialize" : "session/new"),
  };
  return {
    name: spec.name,
    backend: acpBackend(parts),
    /** "OpenCode 1.20.0, newer than tried (1.18.33)", where the agent that was started last is. */
    get newerThanTried() {
      const { agentVersion, newerThan } = starter;
      return newerThan && `${agentVersion}, newer than tried (${newerThan})`;
    },
    /** Starts a process if none runs; sends no prompt. Throws `not_signed_in`, `upstream_failed`, `upstream_timeout`. */
    models: (signal: AbortSignal) => listModels(parts, signal),
    /** Resolves with the error for a request that waits for `models`, once the agent is too slow. Rejects with the signal's reason. */
    untilSlow: (signal: AbortSignal) => untilSlow(signs, clock, signal),
    /** Processes started since this agent was opened, and how many of them ended although nobody ended them; its version as its last `initialize` said. */
    async stats() {
      const processes = await Promise.all(pool.processes.map(statsOf));
      const { starts, crashes } = pool;
      return { processes, starts, crashes, prompts, agentVersion: starter.agentVersion };
    },
    async close() {
      hub.close(); // first: a relay whose agent lives on hears nothing of the end
      await pool.close();
    },
  };
}

async function statsOf(process: AgentProcess) {
  const { child, startupMs, sessions, runningTurns } = process;
  const rssBytes = await child.rssBytes();
  return { pid: child.pid, rssBytes, startupMs, sessions: sessions.size, runningTurns };
}

/**
 * The models that a new session of the agent offers; the session is discarded and nothing is asked. An agent without a model
 * option has one model, `default`.
 */
export async function listModels(parts: AgentParts, signal: AbortSignal): Promise<readonly AcpModel[]> {
  const { spec, pool } = parts;
  try {
    const lease = await pool.lease(plainLaunch(spec), signal);
    try {
      const session = await lease.process.newSession(signal).catch((error: unknown) => {
        lease.process.isStale ||= agentError(error, parts).code === "not_signed_in"; // it never learns of a sign-in
        throw error;
      });
      await session.expire();
      return withEfforts(session.options) ?? [{ ...onlyModel, label: lease.process.abilities.name ?? spec.name }];
    } finally {
      lease.release();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw agentError(error, parts);
  }
}

const onlyModel = { id: "default", description: undefined, group: undefined, isCurrent: true };
