import { deadline, notNeeded, orAborted } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import { isMillraceError, isWithoutIde, MillraceError } from "../base/errors.ts";
import { AccountCatalogue, type AccountList } from "./account-catalogue.ts";
import type { AccountModel } from "./account-models.ts";
import { configuredAgentModels } from "./agent-models.ts";
import type { AgentSource } from "./beside-list.ts";
import { createCatalogue } from "./catalogue.ts";
import { KeptList } from "./kept-list.ts";
import type { ModelLifecycle } from "./lifecycle.ts";
import { type Model, type Models, priceOf } from "./model.ts";
import { nameOfUid } from "./model-name.ts";
import { refuseLongName, resolveModel } from "./resolve.ts";

export interface ModelsOptions {
  readonly clock: Clock;
  /** How long a list is believed, in ms. */
  readonly keepMs?: number;
  /** The youngest list that an unknown name makes us ask for again, in ms. */
  readonly doubtMs?: number;
  readonly events?: EventSink<ModelLifecycle>;
  /** The user's default model now, by any of its names: it is the default in place of the account's, where the list has it. */
  readonly preferred?: () => string | undefined;
}

/** Where the lists of models come from. */
export interface ModelSources {
  /** The account of the IDE: throws the errors of finding its server or its agent. */
  readonly account: (signal: AbortSignal) => Promise<AccountList>;
  /** Agents that the user configured. */
  readonly agents?: readonly AgentSource[];
}

/** The models, with the facts that a backend needs. */
export interface OpenModels extends Models {
  /** Whether only the vendor's agent has this model. Reads lists that were not read yet, and throws as `list` does. */
  isOnlyAgents(uid: string, signal: AbortSignal): Promise<boolean>;
  /** How much a model takes, as the last lists say; undefined where they do not. Sends no request. */
  readonly contextTokens: (uid: string) => number | undefined;
  /** The price of one prompt in credits, as the last lists say; undefined where they do not. Sends no request. */
  readonly priceOf: (uid: string) => number | undefined;
  /** The models of the last lists that cost nothing and can be called. Sends no request. */
  free(): readonly Model[];
}

interface KnownAgent {
  readonly name: string;
  readonly source: AgentSource;
  readonly list: KeptList<readonly AccountModel[]>;
  isSlow: boolean;
  /** Why it did not list its models the last time. */
  lacks: { readonly error: unknown } | undefined;
}

/** The models that requests can name: the account's, and `<agent>/<model>` of each configured agent. */
export function openModels(sources: ModelSources, options: ModelsOptions): OpenModels {
  const { clock, keepMs = 300_000, doubtMs = 10_000, events, preferred = () => undefined } = options;
  const catalogue = createCatalogue();
  const account = new AccountCatalogue({ account: sources.account, names: catalogue, clock, keepMs, doubtMs, events });
  const agents = (sources.agents ?? []).map((source): KnownAgent => {
    const { name } = source;
    const ask = async (signal: AbortSignal) => configuredAgentModels(name, await source.models(signal), catalogue);
    return { name, source, list: new KeptList(ask, clock), isSlow: false, lacks: undefined };
  });
  const known = () => [...account.known, ...agents.flatMap(({ list }) => list.last ?? [])];

  /** The list of an agent, which `slow` may give up with the error that it resolves with; the list is still asked for then. */
  async function readUnless(
    slow: (signal: AbortSignal) => Promise<MillraceError>,
    { list }: KnownAgent,
    maxAgeMs: number,
    signal: AbortSignal,
  ): Promise<readonly AccountModel[]> {
    const over = new AbortController();
    const asking = list.read(maxAgeMs, deadline(new AbortController().signal, startMs));
    const gaveUp = slow(AbortSignal.any([signal, over.signal])).then((error) => Promise.reject(error));
    for (const each of [asking, gaveUp]) each.catch(() => {}); // the caller may have left
    try {
      return await orAborted(Promise.race([asking, gaveUp]), signal);
    } finally {
      over.abort(notNeeded);
    }
  }

  const unlisted = (name: string, patienceMs: number) => async (signal: AbortSignal) => {
    await clock.sleep(patienceMs, signal);
    const message = `The agent ${name} has not listed its models within ${patienceMs / 1_000} s.`;
    return new MillraceError("upstream_timeout", message);
  };

  /** The lists of all agents that answer. One that does not answer is left out, and waited for once, until it has answered. */
  async function agentModels(maxAgeMs: number, signal: AbortSignal): Promise<readonly AccountModel[]> {
    const lists = await Promise.all(
      agents.map(async (agent) => {
        try {
          const list = await readUnless(
            unlisted(agent.name, agent.isSlow ? 0 : listPatienceMs),
            agent,
            maxAgeMs,
            signal,
          );
          agent.isSlow = false;
          agent.lacks = undefined;
          return list;
        } catch (error) {
          signal.throwIfAborted();
          if (!agent.isSlow) events?.emit("agent_models_unread", { agent: agent.name, error });
          agent.lacks = { error };
          agent.isSlow ||= isMillraceError(error) && error.code === "upstream_timeout";
          return agent.isSlow ? (agent.list.last ?? []) : [];
        }
      }),
    );
    // A configured agent's own default model is no default beside the account's.
    return lists.flat().map((model) => ({ ...model, isDefault: false }));
  }

  return {
    async list({ refresh }, signal) {
      const maxAgeMs = refresh ? 0 : keepMs;
      const others = agentModels(maxAgeMs, signal);
      others.catch(() => {}); // awaited below, unless the account fails first
      try {
        return withDefault([...(await account.list(refresh, signal)), ...(await others)], preferred());
      } catch (error) {
        const listed = hasNoAccount(error) ? await others : [];
        const lacks = agents.flatMap((agent) =>
          agent.lacks === undefined ? [] : [{ name: agent.name, ...agent.lacks }],
        );
        if (listed.length === 0)
          throw lacks.length > 0 && hasNoAccount(error) ? noneLists(lacks, error as MillraceError) : error; // `hasNoAccount`
        return withDefault(listed, preferred());
      }
    },
    contextTokens: (uid) => known().find((model) => model.uid === uid)?.contextTokens,
    priceOf(uid) {
      const model = known().find((one) => one.uid === uid);
      return model && priceOf(model);
    },
    free: () => known().filter((model) => priceOf(model) === 0 && model.disabledReason === undefined),
    nameOf(uid) {
      const name = known().find((model) => model.uid === uid)?.name;
      return name ?? (uid.includes("/") ? uid : nameOfUid(uid, catalogue));
    },
    async resolve(name, effort, signal) {
      refuseLongName(name);
      const lower = name.trim().toLowerCase();
      const agent = agents.find((candidate) => lower.startsWith(`${candidate.name}/`));
      if (agent === undefined) return account.resolve(name, effort, { owner: "The account", all: known }, signal);
      const words = { owner: `The agent ${agent.name}`, all: known };
      const slow = (waiting: AbortSignal) => agent.source.untilSlow?.(waiting) ?? new Promise<never>(() => {});
      const first = await readUnless(slow, agent, keepMs, signal);
      try {
        return resolveModel(first, name, effort, words);
      } catch (error) {
        if (!isMillraceError(error) || error.code !== "unknown_model") throw error;
        const second = await readUnless(slow, agent, doubtMs, signal);
        if (second === first) throw error;
        return resolveModel(second, name, effort, words);
      }
    },
    isOnlyAgents: (uid, signal) => account.isOnlyAgents(uid, signal),
  };
}

/** The models with the user's default as the only one; a name that means none of them changes nothing. */
function withDefault(models: readonly AccountModel[], preferred: string | undefined): readonly AccountModel[] {
  if (preferred === undefined) return models;
  try {
    const { uid } = resolveModel(models, preferred, undefined).model;
    return models.map((model) => ({ ...model, isDefault: model.uid === uid }));
  } catch (error) {
    if (isMillraceError(error)) return models;
    throw error;
  }
}

/** How long a listing waits for an agent, and how long the agent itself has; ms. */
const listPatienceMs = 5_000;
const startMs = 60_000;

const startingRetryMs = 3_000;

/** The error of a listing that has agents and no account: one that still starts, else each agent and what it lacks. */
function noneLists(
  agents: readonly { readonly name: string; readonly error: unknown }[],
  account: MillraceError,
): MillraceError {
  const errors = agents.map(({ name, error }) => ({ name, error: isMillraceError(error) ? error : undefined }));
  const starting = errors.filter(({ error }) => error?.code === "upstream_timeout").map(({ name }) => name);
  if (starting.length > 0) {
    const who = starting.length === 1 ? `The agent ${starting.join("")} is` : `The agents ${starting.join(", ")} are`;
    return new MillraceError("unavailable", `${who} still starting, so there are no models yet.`, {
      hint: "Ask again in a few seconds. The first start of an agent takes longest.",
      retryAfterMs: startingRetryMs,
    });
  }
  const said = errors.map(({ name, error }) => error?.message ?? `The agent ${name} could not list its models.`);
  const hints = [...new Set(errors.flatMap(({ error }) => error?.hint ?? []))];
  const code = errors[0]?.error?.code ?? account.code;
  return new MillraceError(
    code,
    [...said, account.message].join(" "),
    hints.length === 0 ? {} : { hint: hints.join(" ") },
  );
}

/** Whether no account is signed in to the IDE's vendor here, or its server has no models left: the other models can still be used. */
function hasNoAccount(error: unknown): boolean {
  return isWithoutIde(error) || (isMillraceError(error) && error.code === "backend_retired");
}
