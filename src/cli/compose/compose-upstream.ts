import { randomUUID } from "node:crypto";
import { openBackends } from "../../backends/route/route.ts";
import { isMillraceError } from "../../base/errors.ts";
import { fileVersion } from "../../base/node/own-file.ts";
import { type OpenModels, openModels } from "../../models/open-models.ts";
import { composeAgents, readAccountModels, type UpstreamOptions } from "../agents/compose-agents.ts";
import { defaultModelHere, readableConfig, readConfig } from "../config/read-config.ts";
import type { IdeMemory } from "../serve/ide-in-use.ts";
import { promptServers } from "../serve/prompt-servers.ts";
import { readSettings } from "../settings.ts";
import { openOwnJournal } from "./own-cascades.ts";
import { startingIde } from "./starting-ide.ts";

/**
 * Opens the backends. No agent is started before its first prompt; the caller closes `agents`. Without a memory, the programs in use are
 * forgotten at the end of the process.
 */
export function composeUpstream(options: UpstreamOptions, memory?: IdeMemory) {
  const { io, finder, ideTools, backend: mode, checkConsent, events } = options;
  const settings = readSettings(io);
  const { folder } = settings;
  let config = (options.mayLackConfig === true ? readableConfig : readConfig)(settings.configFile);
  /** The default model as the user has it now: a file that is broken meanwhile changes nothing. */
  let seen = fileVersion(settings.configFile);
  const preferred = () => {
    const version = fileVersion(settings.configFile);
    try {
      if (version !== seen) config = readConfig(settings.configFile);
    } catch (error) {
      if (!isMillraceError(error)) throw error;
    }
    seen = version;
    return options.preferred ?? defaultModelHere(io.env, config);
  };
  const { owner = randomUUID() } = options;
  const journal = openOwnJournal(settings);
  const servers = promptServers(finder, memory);
  const starting = startingIde(finder, io.clock, servers);
  const agents = composeAgents(options, { config, folder }, servers);
  const backends = openBackends({
    ...servers,
    clock: io.clock,
    journal: { ...journal, owner, clock: io.clock },
    agents,
    mode,
    ...(ideTools === undefined ? {} : { ideTools }),
    ...(options.waitsForIde === true && { onceThere: starting.onceThere }),
    isOnlyAgents: (uid, signal) => models.isOnlyAgents(uid, signal),
    ...(checkConsent === undefined ? {} : { checkConsent }),
  });
  const models: OpenModels = openModels(
    { account: readAccountModels(backends, servers, agents), agents: agents.all },
    { clock: io.clock, preferred, ...(events && { events }) },
  );
  return { servers, agents, backends, models, journal, starting };
}
