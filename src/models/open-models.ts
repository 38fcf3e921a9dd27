import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import { isMillraceError, isWithoutIde } from "../base/errors.ts";
import { SharedCall } from "../base/shared-call.ts";
import type { UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type AccountModel, modelsOf } from "./account-models.ts";
import { type AgentModel, configuredAgentModels, vendorAgentModels } from "./agent-models.ts";
import { createCatalogue } from "./catalogue.ts";
import type { ModelLifecycle } from "./lifecycle.ts";
import type { Models } from "./model.ts";
import { nameOfUid } from "./model-name.ts";
import { resolveModel } from "./resolve.ts";

export interface ModelsOptions {
  readonly clock: Clock;
  /** How long a list is believed, in ms. */
  readonly keepMs?: number;
  /** The youngest list that an unknown name makes us ask for again, in ms. */
  readonly doubtMs?: number;
  readonly events?: EventSink<ModelLifecycle>;
}

/** Where the lists of models come from. */
export interface ModelSources {
  /** The account of the IDE: throws what finding its server or its agent throws. */
  readonly account: (signal: AbortSignal) => Promise<AccountList>;
  /** Agents that the user configured. */
  readonly agents?: readonly AgentSource[];
}

/** What is known of the account's models: its status at the language server, the list of the vendor's agent, or both. */
export interface AccountList {
  readonly status: UserStatus | undefined;
  /** Undefined where prompts go to the language server. */
  readonly agent: readonly AgentModel[] | undefined;
}

interface AgentSource {
  readonly name: string;
  models(signal: AbortSignal): Promise<readonly AgentModel[]>;
}

/** The models that requests can name: the account's, and `<agent>/<model>` of each configured agent. */
export function openModels(sources: ModelSources, options: ModelsOptions): Models {
  const { clock, keepMs = 300_000, doubtMs = 10_000, events } = options;
  const catalogue = createCatalogue();
  const account = new KeptList(async (signal) => {
    const { status, agent } = await sources.account(signal);
    const listed = status === undefined ? [] : modelsOf(status, catalogue);
    return agent === undefined ? listed : vendorAgentModels(agent, listed, catalogue);
  }, clock);
  const agents = (sources.agents ?? []).map((agent) => {
    const { name } = agent;
    const ask = async (signal: AbortSignal) => configuredAgentModels(name, await agent.models(signal), catalogue);
    return { name, list: new KeptList(ask, clock) };
  });
  const known = () => [account, ...agents.map(({ list }) => list)].flatMap(({ last }) => last ?? []);

  /** The lists of all agents that answer; one that does not is left out. */
  async function agentModels(maxAgeMs: number, signal: AbortSignal): Promise<readonly AccountModel[]> {
    const lists = await Promise.all(
      agents.map(async ({ name, list }) => {
        try {
          return await list.read(maxAgeMs, signal);
        } catch (error) {
          signal.throwIfAborted();
          events?.emit("agent_models_unread", { agent: name, error });
          return [];
        }
      }),
    );
    // The model that a configured agent uses by itself is no default beside the account's.
    return lists.flat().map((model) => ({ ...model, isDefault: false }));
  }

  return {
    async list({ refresh }, signal) {
      const maxAgeMs = refresh ? 0 : keepMs;
      const others = agentModels(maxAgeMs, signal);
      others.catch(() => {}); // awaited below, unless the account fails first
      try {
        return [...(await account.read(maxAgeMs, signal)), ...(await others)];
      } catch (error) {
        const listed = hasNoAccount(error) ? await others : [];
        if (listed.length === 0) throw error;
        return listed;
      }
    },
    nameOf(uid) {
      const name = known().find((model) => model.uid === uid)?.name;
      return name ?? (uid.includes("/") ? uid : nameOfUid(uid, catalogue));
    },
    async resolve(name, effort, signal) {
      const lower = name.trim().toLowerCase();
      const agent = agents.find((candidate) => lower.startsWith(`${candidate.name}/`));
      const list = agent?.list ?? account;
      const words = { owner: agent === undefined ? "The account" : `The agent ${agent.name}`, all: known };
      const first = await list.read(keepMs, signal);
      try {
        return resolveModel(first, name, effort, words);
      } catch (error) {
        // A model may have come since; a misspelt name must not make every request ask the server.
        if (!isMillraceError(error) || error.code !== "unknown_model") throw error;
        const second = await list.read(doubtMs, signal);
        if (second === first) throw error;
        return resolveModel(second, name, effort, words);
      }
    },
  };
}

/** A list that is believed for a while, and asked for once by all callers together. */
class KeptList {
  readonly #ask: (signal: AbortSignal) => Promise<readonly AccountModel[]>;
  readonly #clock: Clock;
  readonly #call = new SharedCall<readonly AccountModel[]>();
  #taken: { readonly models: readonly AccountModel[]; readonly atMs: number } | undefined;

  constructor(ask: (signal: AbortSignal) => Promise<readonly AccountModel[]>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** As it was read last; undefined before that. */
  get last(): readonly AccountModel[] | undefined {
    return this.#taken?.models;
  }

  async read(maxAgeMs: number, signal: AbortSignal): Promise<readonly AccountModel[]> {
    const taken = this.#taken;
    if (taken !== undefined && this.#clock.monotonic() - taken.atMs < maxAgeMs) return taken.models;
    return this.#call.join(async (shared) => {
      const models = await this.#ask(shared);
      this.#taken = { models, atMs: this.#clock.monotonic() };
      return models;
    }, signal);
  }
}

/** No account is signed in here with the IDE's vendor, or its server has no models left: what else there is can be used. */
function hasNoAccount(error: unknown): boolean {
  return isWithoutIde(error) || (isMillraceError(error) && error.code === "backend_retired");
}
