import { splitEffort } from "../base/effort.ts";
import type { ModelUid } from "../base/ids.ts";
import type { AccountModel } from "./account-models.ts";
import type { Catalogue } from "./catalogue.ts";
import { shapeOf } from "./model-shape.ts";
import { vendorByName } from "./model-vendor.ts";
import { uniqueNames } from "./unique-names.ts";

/** A model as an agent's own options list it. */
export interface AgentModel {
  /** The model's id in a session of the agent: `swe-2-high`, `openai/gpt-5`. */
  readonly id: string;
  readonly label: string;
  /** The agent's default model. */
  readonly isCurrent: boolean;
}

/**
 * The models of the vendor's agent, named as the account's own list names them. The agent decides which models can be called. The
 * language server's list adds facts that only it has: window, price, images.
 */
export function vendorAgentModels(
  listed: readonly AgentModel[],
  account: readonly AccountModel[],
  catalogue: Catalogue,
): readonly AccountModel[] {
  const unique = new Map(listed.map((model) => [model.id, model]));
  const names = uniqueNames(new Map([...unique].map(([id, { label }]) => [id, label])), catalogue);
  const known = new Map<string, AccountModel>(account.map((model) => [model.uid, model]));
  return [...unique.values()].map((model) => {
    const name = names.get(model.id) ?? model.id;
    const bare = bareModel(model, model.id, name, vendorByName(model.id, name, model.label, catalogue));
    const own = { name, isDefault: model.isCurrent, disabledReason: undefined, backend: bare.backend };
    return { ...bare, ...known.get(model.id), ...own };
  });
}

/** The models of an agent that the user configured, each as `<agent>/<id>`. */
export function configuredAgentModels(
  agent: string,
  listed: readonly AgentModel[],
  catalogue: Catalogue,
): readonly AccountModel[] {
  const unique = new Map(listed.map((model) => [model.id, model]));
  return [...unique.values()].map((model) => {
    const uid = `${agent}/${model.id}`;
    const { model: base, effort } = splitEffort(model.id);
    const colon = effort === undefined ? base : `${base}:${effort}`;
    const name = unique.has(colon) ? uid : `${agent}/${colon}`;
    const vendor = vendorByName(model.id, shapeOf(model.id).base, model.label, catalogue);
    return bareModel(model, uid, name, vendor === "unknown" ? agent : vendor);
  });
}

function bareModel({ label, isCurrent }: AgentModel, uid: string, name: string, vendor: string): AccountModel {
  const { base, effort } = shapeOf(name);
  return {
    uid: uid as ModelUid, // what the agent takes, after the agent's name where there is one
    number: undefined,
    enumName: undefined,
    name,
    label: label === "" ? name : label,
    vendor,
    contextTokens: undefined,
    maxOutputTokens: undefined,
    supportsImages: true, // an agent that takes no images refuses them when they are sent
    creditMultiplier: undefined,
    costTier: undefined,
    isNew: false,
    isDefault: isCurrent,
    disabledReason: undefined,
    family: effort === undefined ? undefined : base,
    effort,
    backend: "acp",
    isDefaultInFamily: false,
  };
}
