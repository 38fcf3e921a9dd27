import type { Agents, VendorAgent } from "../../backends/agents.ts";
import type { ServerSource } from "../../backends/current-server.ts";
import type { OpenBackends } from "../../backends/open-backend.ts";
import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { AccountList } from "../../models/account-catalogue.ts";
import type { UserStatus } from "../../proto/windsurf/exa/codeium_common_pb.ts";

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
