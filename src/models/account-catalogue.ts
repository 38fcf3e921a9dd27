import type { Clock } from "../base/clock.ts";
import type { EventSink } from "../base/emitter.ts";
import { isMillraceError } from "../base/errors.ts";
import type { UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type AccountModel, modelsOf } from "./account-models.ts";
import { type AgentModel, vendorAgentModels } from "./agent-models.ts";
import { type AgentSource, BesideList } from "./beside-list.ts";
import type { Catalogue } from "./catalogue.ts";
import { KeptList } from "./kept-list.ts";
import type { ModelLifecycle } from "./lifecycle.ts";
import type { ModelBackend, Resolution } from "./model.ts";
import { shapeKey, shapeOf } from "./model-shape.ts";
import { resolveModel, type UnknownWords } from "./resolve.ts";

/** The account's models: its status at the language server, the list of the vendor's agent, or both. */
export interface AccountList {
  readonly status: UserStatus | undefined;
  /** Undefined where prompts go to the language server. */
  readonly agent: readonly AgentModel[] | undefined;
  /** The backend for prompts to these models. */
  readonly backend: ModelBackend;
  /** The vendor's agent, where prompts go to the language server and the agent can be asked as well. */
  readonly beside?: AgentSource | undefined;
  /** Whether the language server has reported since that it no longer answers this model, and the agent offers the model. */
  readonly isMoved?: ((uid: string) => boolean) | undefined;
}

export interface CatalogueOptions {
  readonly account: (signal: AbortSignal) => Promise<AccountList>;
  readonly names: Catalogue;
  readonly clock: Clock;
  /** How long a list is believed, in ms. */
  readonly keepMs: number;
  /** The youngest list that an unknown name makes us ask for again, in ms. */
  readonly doubtMs: number;
  readonly events: EventSink<ModelLifecycle> | undefined;
}

interface OwnCatalogue extends Pick<AccountList, "beside" | "isMoved"> {
  readonly listed: readonly AccountModel[];
}

/** Looks for the model that a request names. */
type ResolveAmong = (models: readonly AccountModel[]) => Resolution;

interface BuiltCatalogue {
  readonly own: OwnCatalogue;
  readonly offered: readonly AgentModel[];
  /** How many models had moved to the agent. */
  readonly moved: number;
  readonly models: readonly AccountModel[];
}

/** How long the list of the agent beside is believed, by a listing and by a name that no list has; ms. */
const besideKeepMs = 60 * 60_000;
const besideDoubtMs = 60_000;
/** How long a listing waits for the first list of that agent, and how long one does that asks for a new list; ms. */
const listWaitMs = 5_000;
const refreshWaitMs = 30_000;
/** How long a request waits for that agent when only the agent may have the model; ms. */
const nameWaitMs = 20_000;

/**
 * The models of the account, and the backend of each. The chosen backend serves its own models. Models that only the vendor's agent
 * offers beside it go to the agent. The agent is asked for a listing, or for a name that the account's own list lacks: never for a
 * name that the list has, and never at the start.
 */
export class AccountCatalogue {
  readonly #options: CatalogueOptions;
  readonly #own: KeptList<OwnCatalogue>;
  readonly #beside: BesideList;
  /** The last list that was put together. */
  #made: BuiltCatalogue | undefined;

  constructor(options: CatalogueOptions) {
    const { account, names, clock, events } = options;
    this.#options = options;
    this.#beside = new BesideList(clock, events);
    this.#own = new KeptList(async (signal) => readList(await account(signal), names), clock);
  }

  /** As it was read last. */
  get known(): readonly AccountModel[] {
    const own = this.#own.last;
    return own === undefined ? [] : this.#all(own, own.beside === undefined ? [] : this.#beside.last);
  }

  /** Throws as asking for the account's own list does. */
  async list(refresh: boolean, signal: AbortSignal): Promise<readonly AccountModel[]> {
    const own = await this.#own.read(refresh ? 0 : this.#options.keepMs, signal);
    if (own.beside === undefined) return this.#all(own, []);
    const firstWaitMs = this.#beside.isKnown ? 0 : listWaitMs;
    const patience = refresh ? { maxAgeMs: 0, waitMs: refreshWaitMs } : { maxAgeMs: besideKeepMs, waitMs: firstWaitMs };
    return this.#all(own, await this.#beside.read(own.beside, patience, signal));
  }

  /** Throws as `list` and `resolveModel` do. */
  async resolve(
    name: string,
    effort: string | undefined,
    words: UnknownWords,
    signal: AbortSignal,
  ): Promise<Resolution> {
    const { keepMs, doubtMs } = this.#options;
    const among: ResolveAmong = (models) => resolveModel(models, name, effort, words);
    const first = await this.#own.read(keepMs, signal);
    try {
      return among(this.#all(first, []));
    } catch (error) {
      if (!isMissing(error, first)) throw error;
      // A model may have come since; a misspelt name must not make every request ask the server.
      const second = await this.#own.read(doubtMs, signal);
      if (second === first && first.beside === undefined) throw error;
      return this.#resolveAnywhere(second, among, signal);
    }
  }

  /** Whether only the vendor's agent has this model. Reads lists that were not read yet, and throws as `list` does. */
  async isOnlyAgents(uid: string, signal: AbortSignal): Promise<boolean> {
    const byUid = () => this.known.find((model) => model.uid === uid && model.disabledReason === undefined);
    const known = byUid();
    if (known !== undefined) return known.backend === "acp";
    const { beside } = await this.#own.read(this.#options.keepMs, signal);
    if (beside !== undefined && byUid() === undefined) {
      await this.#beside.read(beside, { maxAgeMs: besideDoubtMs, waitMs: nameWaitMs }, signal);
    }
    return byUid()?.backend === "acp";
  }

  async #resolveAnywhere(own: OwnCatalogue, among: ResolveAmong, signal: AbortSignal): Promise<Resolution> {
    try {
      return among(this.#all(own, []));
    } catch (error) {
      if (!isMissing(error, own) || own.beside === undefined) throw error;
      const patience = { maxAgeMs: besideDoubtMs, waitMs: nameWaitMs };
      const offered = await this.#beside.read(own.beside, patience, signal);
      return among(this.#all(own, offered));
    }
  }

  /** Of the same lists the same array. */
  #all(own: OwnCatalogue, offered: readonly AgentModel[]): readonly AccountModel[] {
    const moved = own.isMoved === undefined ? 0 : own.listed.filter(({ uid }) => own.isMoved?.(uid)).length;
    if (moved === 0 && offered.length === 0) return own.listed;
    const made = this.#made;
    if (made?.own === own && made.offered === offered && made.moved === moved) return made.models;
    const models = withAgentModels(withoutMoved(own), offered, this.#options.names);
    this.#made = { own, offered, moved, models };
    return models;
  }
}

function readList({ status, agent, backend, beside, isMoved }: AccountList, names: Catalogue): OwnCatalogue {
  const account = status === undefined ? [] : modelsOf(status, names);
  if (agent !== undefined) return { listed: vendorAgentModels(agent, account, names) };
  return { listed: account.map((model) => ({ ...model, backend })), beside, isMoved };
}

/** The account's own models, and after them those that only the agent offers: a model that is disabled here counts as missing. */
function withAgentModels(
  own: readonly AccountModel[],
  offered: readonly AgentModel[],
  names: Catalogue,
): readonly AccountModel[] {
  const here = keysOf(own.filter(({ disabledReason }) => disabledReason === undefined));
  const added = vendorAgentModels(offered, own, names)
    .filter((model) => !isAmong(here, model))
    .map((model) => ({ ...model, isDefault: false })); // what the agent uses by itself is no default beside the account's
  const there = keysOf(added);
  return [...own.filter((model) => !isAmong(there, model)), ...added];
}

function keysOf(models: readonly AccountModel[]): ReadonlySet<string> {
  return new Set(models.flatMap(keysOfOne));
}

function isAmong(keys: ReadonlySet<string>, model: AccountModel): boolean {
  return keysOfOne(model).some((key) => keys.has(key));
}

/** The names that resolution would accept for this model: its UID, its name, its label. A bare name means the medium effort. */
function keysOfOne({ uid, name, label }: AccountModel): readonly string[] {
  const shapes = [name, label].map(shapeOf).map((shape) => shapeKey({ ...shape, effort: shape.effort ?? "medium" }));
  return [uid, ...shapes.map((key) => `shape ${key}`)];
}

function withoutMoved({ listed, isMoved }: OwnCatalogue): readonly AccountModel[] {
  const disabledReason = "only the IDE's agent answers it now, and the agent does not list it";
  return listed.map((model) => (isMoved?.(model.uid) ? { ...model, disabledReason } : model));
}

/** The list does not have the model; or the account may not call it there, and an agent may have it. */
function isMissing(error: unknown, { beside }: OwnCatalogue): boolean {
  if (!isMillraceError(error)) return false;
  return error.code === "unknown_model" || (error.code === "model_not_allowed" && beside !== undefined);
}
