import { randomUUID } from "node:crypto";
import type { ToolWay } from "../../backends/acp/tools/native-knowledge.ts";
import type { IdeTools } from "../../backends/cascade/settings.ts";
import type { BackendMode } from "../../backends/choose-backend.ts";
import type { BackendLifecycle } from "../../backends/lifecycle.ts";
import { type BackendsOptions, openBackends } from "../../backends/open-backend.ts";
import type { EventSink } from "../../base/emitter.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { agentIdOf } from "../../models/agent-models.ts";
import { createCatalogue } from "../../models/catalogue.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import { type OpenModels, openModels } from "../../models/open-models.ts";
import { composeAgents, readAccountModels } from "../agents/compose-agents.ts";
import { readConfig } from "../config/read-config.ts";
import { promptServers } from "../serve/servers.ts";
import type { Io } from "../terminal/output.ts";
import { openOwnJournal, ownerName } from "./own-cascades.ts";
import { readSettings } from "./settings.ts";

/** The user's choice of how models are asked, and what the backends need. */
interface UpstreamOptions {
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
  /** Decides whether prompts may go to an IDE; they may go to any without it. */
  readonly checkConsent?: BackendsOptions["checkConsent"];
  readonly events?: EventSink<ModelLifecycle & BackendLifecycle>;
}

/** The parts that answer prompts on this machine, and their models. */
export type Upstream = ReturnType<typeof composeUpstream>;

/** Opens the backends. No agent is started before its first prompt; the caller closes `agents`. */
export function composeUpstream(options: UpstreamOptions) {
  const { io, finder, ideTools, toolWay: tools, backend: mode, acpCommand: command, checkConsent, events } = options;
  const settings = readSettings(io);
  const { folder } = settings;
  const config = readConfig(settings.configFile);
  const { owner = ownerName(randomUUID()) } = options;
  const journal = openOwnJournal(settings);
  const servers = promptServers(finder);
  const leavesAgents = options.owner !== undefined; // a gateway has a name of its own
  const agents = composeAgents({ io, finder, config, command, folder, journal, owner, leavesAgents, tools, events });
  const catalogue = createCatalogue();
  const backends = openBackends({
    ...servers,
    clock: io.clock,
    agents,
    mode,
    ...(ideTools === undefined ? {} : { ideTools }),
    isOnlyAgents: (uid, signal) => models.isOnlyAgents(uid, signal),
    ...(checkConsent === undefined ? {} : { checkConsent }),
    agentIdOf: (uid, listed) => agentIdOf(models.nameOf(uid), listed, catalogue),
  });
  const models: OpenModels = openModels(
    { account: readAccountModels(backends, servers, agents), agents: agents.all },
    { clock: io.clock, ...(events && { events }) },
  );
  return { servers, agents, backends, models, journal };
}
