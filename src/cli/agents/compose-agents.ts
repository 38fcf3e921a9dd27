import { type AcpAgent, type AcpAgentSpec, openAcpAgent } from "../../backends/acp/agent.ts";
import type { ToolWay } from "../../backends/acp/session/native-knowledge.ts";
import type { IdeTools } from "../../backends/cascade/turn-view.ts";
import type { ServerSource } from "../../backends/current-server.ts";
import type { BackendLifecycle } from "../../backends/lifecycle.ts";
import type { BackendMode } from "../../backends/route/choose-backend.ts";
import type { Agents, BackendsOptions, OpenBackends, VendorAgent } from "../../backends/route/route.ts";
import { deadline } from "../../base/async.ts";
import type { EventSink } from "../../base/emitter.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { AgentStats } from "../../gateway/metrics/read-gauges.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { AgentProgram, DiscoveryResult, IdeFinder } from "../../ide/ide.ts";
import type { AccountList } from "../../models/account-catalogue.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import type { UserStatus } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import type { Config } from "../config/read-config.ts";
import type { Io } from "../terminal/output.ts";
import { configuredSpec, hostsFolder, namedVendorSpec, type SpecParts, vendorNames, vendorSpec } from "./agent-spec.ts";

/** The user's choice of how models are asked, and what the backends need. */
export interface UpstreamOptions {
  readonly io: Io;
  readonly finder: IdeFinder;
  readonly backend: BackendMode;
  /** The program and arguments to start in place of the vendor's agent. */
  readonly acpCommand: readonly string[] | undefined;
  /** Whether the IDE's agent may look things up while it answers over Cascade; `read` by default. */
  readonly ideTools?: IdeTools | undefined;
  /** How a client's tools reach an agent; `auto` by default. */
  readonly toolWay?: ToolWay | undefined;
  /** Names this process in the journal of conversations. */
  readonly owner?: string;
  /** A prompt waits for an IDE that is starting; it fails at once without this. */
  readonly waitsForIde?: true;
  /** Decides whether prompts may go to an IDE; they may go to any without it. */
  readonly checkConsent?: BackendsOptions["checkConsent"];
  readonly events?: EventSink<ModelLifecycle & BackendLifecycle>;
  /** The default model that was typed; without it that of the environment, else that of the configuration at each moment. */
  readonly preferred?: string | undefined;
  /** A configuration file that is wrong counts as none, for a command that reports it. */
  readonly mayLackConfig?: true;
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

/** The memory of the agent program in use; `cli/serve/prompt-servers.ts` has it. */
interface AgentChoice {
  findAgent(
    signal: AbortSignal,
  ): Promise<{ readonly result: DiscoveryResult; readonly program: AgentProgram | undefined }>;
  noteAgent(program: AgentProgram): void;
}

/** Opens the vendor's agent at its first use, and again after it was reinstalled or an account signed in. */
export function composeAgents(
  { io, acpCommand: command, toolWay: tools, owner: gateway, events }: UpstreamOptions,
  { config, folder }: { readonly config: Config; readonly folder: string },
  choice: AgentChoice,
): ComposedAgents {
  const parts: SpecParts = { io, folder };
  const opened: AcpAgent[] = [];
  const open = (spec: AcpAgentSpec): AcpAgent => {
    const agent = openAcpAgent(spec, {
      clock: io.clock,
      events,
      // A gateway has a name of its own, and its agents outlive it. A command takes no agent from a gateway, and leaves none behind.
      ...(gateway === undefined ? {} : { hosts: { folder: hostsFolder(folder) } }),
      ...(tools === undefined ? {} : { tools }),
    });
    opened.push(agent);
    return agent;
  };
  const all = config.agents.map((agent) => open(configuredSpec(agent, parts)));
  const vendors = new Map<string, AcpAgent>();
  const openedVendor = (key: string, spec: () => AcpAgentSpec): AcpAgent => {
    const agent = vendors.get(key) ?? open(spec());
    vendors.set(key, agent);
    return agent;
  };

  const vendor: Agents["vendor"] = async (signal) => {
    if (command !== undefined) {
      const agent = openedVendor("", () => namedVendorSpec(command, parts));
      return { agent, product: `the agent program ${command[0] ?? ""}` };
    }
    const { result, program = vendorProgram(result) } = await choice.findAgent(signal);
    const { variant, path, home, signedIn, product } = program;
    const key = JSON.stringify([variant, path, home, signedIn]);
    const agent = openedVendor(key, () => vendorSpec(program, parts));
    return { agent, product, program, onPrompt: () => choice.noteAgent(program) };
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

/**
 * The program of the vendor's agent that prompts go to.
 *
 * @throws MillraceError `not_signed_in` where a program is installed that no account is signed in to, `ide_not_running` where none is.
 */
export function vendorProgram(result: Pick<DiscoveryResult, "agents">): AgentProgram {
  const chosen = chooseAgent(result);
  if (chosen !== undefined) return chosen.agent;
  const refused = refusals.get(result.agents) ?? refusalOf(result);
  refusals.set(result.agents, refused);
  throw refused;
}

/** By the agents that were found: a gateway asks before each prompt, and a new error captures the stack each time. */
const refusals = new WeakMap<DiscoveryResult["agents"], MillraceError>();

function refusalOf({ agents: [first] }: Pick<DiscoveryResult, "agents">): MillraceError {
  if (first !== undefined) {
    return new MillraceError("not_signed_in", `${first.product} is installed, but no account is signed in there.`, {
      hint: "Sign in inside Devin Desktop, or run `devin auth login`.",
    });
  }
  return new MillraceError("ide_not_running", "No `devin` program was found here.", {
    hint: "Install Devin Desktop or the Devin CLI, sign in there, and try again.",
  });
}

/** How long the language server may take to add its facts to an agent's list. */
const addingMs = 3_000;

/**
 * The account's list from the program that gets its prompts: the language server, or the vendor's agent with the facts of a language
 * server that runs beside it. No prompt is sent. An agent beside the language server is named, but not asked here.
 */
export function readAccountModels(
  backends: Pick<OpenBackends, "chosen">,
  servers: ServerSource,
  agents: Agents,
): (signal: AbortSignal) => Promise<AccountList> {
  const status = async (signal: AbortSignal) => (await servers.find(signal)).getUserStatus(signal);
  const ofAgent = async ({ agent }: VendorAgent, signal: AbortSignal): Promise<AccountList> => {
    const [listed, added] = await Promise.all([agent.models(signal), ifAnswered(status, signal)]);
    return { status: added, agent: listed, backend: "acp" };
  };
  return async (signal) => {
    const before = await backends.chosen(signal);
    if (before.agent !== undefined) return ofAgent(before.agent, signal);
    try {
      const read = await status(signal);
      const { kind, agent, beside, isMoved } = await backends.chosen(signal); // the plan may not allow Cascade
      if (agent !== undefined) return ofAgent(agent, signal);
      return { status: read, agent: undefined, backend: kind, beside: beside?.agent, isMoved };
    } catch (error) {
      // The server of a build without Cascade may refuse its list too: the agent has one.
      if (!isMillraceError(error) || error.code !== "backend_retired") throw error;
      return ofAgent(await agents.vendor(signal), signal);
    }
  };
}

async function ifAnswered(
  status: (signal: AbortSignal) => Promise<UserStatus>,
  signal: AbortSignal,
): Promise<UserStatus | undefined> {
  try {
    return await status(deadline(signal, addingMs));
  } catch {
    signal.throwIfAborted();
    return undefined; // the agent's own list is enough
  }
}
