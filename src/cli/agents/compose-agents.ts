import { type AcpAgent, type AcpAgentSpec, openAcpAgent } from "../../backends/acp/process/agent.ts";
import type { ToolWay } from "../../backends/acp/tools/native-knowledge.ts";
import type { Agents } from "../../backends/agents.ts";
import { MillraceError } from "../../base/errors.ts";
import type { AgentStats } from "../../gateway/metrics/agent-metrics.ts";
import type { CascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Config } from "../config/config-schema.ts";
import type { Io } from "../terminal/io.ts";
import { configuredSpec, namedVendorSpec, type SpecParts, vendorNames, vendorSpec } from "./agent-spec.ts";
import { hostsFolder } from "./hosted-agents.ts";
import { journalled } from "./journalled.ts";
import { vendorProgram } from "./vendor-program.ts";

export interface AgentsOptions {
  readonly io: Io;
  readonly finder: IdeFinder;
  readonly config: Config;
  /** Names another program for the vendor's agent. */
  readonly command: readonly string[] | undefined;
  /** Millrace's own folder. */
  readonly folder: string;
  readonly journal: CascadeJournal;
  /** Names this process in the journal. */
  readonly owner: string;
  /** Whether the agents outlive this process: a command takes no agent from a gateway, and leaves none behind. */
  readonly leavesAgents: boolean;
  /** How a client's tools reach an agent; `auto` where undefined. */
  readonly tools?: ToolWay | undefined;
}

/** The agents of one process of Millrace. No program runs before it is asked for something. */
export interface ComposedAgents extends Agents {
  /** Those of the configuration, in its order. */
  readonly all: readonly AcpAgent[];
  /** Every agent that is open: the configured ones, and the vendor's once it was asked for something. */
  readonly opened: readonly AcpAgent[];
  /** Ends every process. */
  close(): Promise<void>;
}

/** Opens the vendor's agent at its first use, and again after it was reinstalled or an account signed in. */
export function composeAgents(options: AgentsOptions): ComposedAgents {
  const { io, finder, config, journal, owner, tools } = options;
  const parts: SpecParts = { io, folder: options.folder };
  const opened: AcpAgent[] = [];
  const open = (spec: AcpAgentSpec): AcpAgent => {
    const agent = openAcpAgent(spec, {
      clock: io.clock,
      ...(options.leavesAgents ? { hosts: { folder: hostsFolder(options.folder) } } : {}),
      ...(tools === undefined ? {} : { tools }),
    });
    opened.push(agent);
    return { ...agentOf(agent), backend: journalled(agent.backend, journal, { owner, clock: io.clock }) };
  };
  const all = config.agents.map((agent) => open(configuredSpec(agent, parts)));
  const vendors = new Map<string, AcpAgent>();
  const openedVendor = (key: string, spec: () => AcpAgentSpec): AcpAgent => {
    const agent = vendors.get(key) ?? open(spec());
    vendors.set(key, agent);
    return agent;
  };
  const { command } = options;

  const vendor: Agents["vendor"] = async (signal) => {
    if (command !== undefined) {
      const agent = openedVendor("", () => namedVendorSpec(command, parts));
      return { agent, product: `the agent program ${command[0] ?? ""}` };
    }
    const program = vendorProgram(await finder.find(signal));
    const { variant, path, home, signedIn, product } = program;
    const key = JSON.stringify([variant, path, home, signedIn]);
    return { agent: openedVendor(key, () => vendorSpec(program, parts)), product, program };
  };

  return {
    all,
    vendor,
    configured: (name) => all.find((agent) => agent.name === name),
    async named(name, signal) {
      const found = all.find((agent) => agent.name === name);
      if (found !== undefined) return found;
      if (name === vendorNames.windsurf || name === vendorNames["windsurf-next"]) return (await vendor(signal)).agent;
      throw new MillraceError("invalid_request", `The agent "${name}" is not in the configuration any more.`, {
        hint: "Put it back into config.toml to read what it answered.",
      });
    },
    opened,
    async close() {
      await Promise.all(opened.map((agent) => agent.close()));
    },
  };
}

/** The figures of the agents for `/metrics`. */
export async function agentStats({ opened }: Pick<ComposedAgents, "opened">): Promise<readonly AgentStats[]> {
  return Promise.all(
    opened.map(async (agent) => {
      const { processes, starts, crashes, prompts } = await agent.stats();
      return { agent: agent.name, processes, starts, crashes, prompts };
    }),
  );
}

/** The members of an agent, of any class. */
function agentOf(agent: AcpAgent): AcpAgent {
  return {
    name: agent.name,
    backend: agent.backend,
    models: (signal) => agent.models(signal),
    untilSlow: (signal) => agent.untilSlow(signal),
    stats: () => agent.stats(),
    close: () => agent.close(),
  };
}
