import { type Effort, parseEffort } from "../base/effort.ts";
import type { ModelUid } from "../base/ids.ts";
import {
  type ClientModelConfig,
  ModelCostTier,
  ModelPricingType,
  ModelProvider,
  ModelSchema,
  type UserStatus,
} from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Model } from "./model.ts";
import { numberOfUid } from "./model-name.ts";
import { shapeOf } from "./model-shape.ts";
import { vendorByName } from "./model-vendor.ts";
import { uniqueNames } from "./unique-names.ts";

/** A model for resolution, with the fact whether it is its family's default. */
export interface AccountModel extends Model {
  readonly isDefaultInFamily: boolean;
}

/**
 * The models of an account's status, in the server's order, each UID once, each name once.
 *
 * Source: docs/dev/wire/account.md, "Model list", "Model ids".
 */
export function modelsOf(status: UserStatus, catalogue: Catalogue): readonly AccountModel[] {
  const data = status.cascadeModelConfigData;
  const configs = new Map<string, ClientModelConfig>();
  for (const config of data?.clientModelConfigs ?? []) {
    const uid = uidOf(config);
    if (uid !== "" && !configs.has(uid)) configs.set(uid, config);
  }
  const names = uniqueNames(new Map([...configs].map(([uid, { label }]) => [uid, label])), catalogue);
  const defaultUid = data?.defaultOverrideModelConfig?.modelUid ?? "";
  const list = {
    catalogue,
    defaultUid,
    isPriced: [...configs.values()].some((config) => config.creditMultiplier !== 0),
  };
  return [...configs].map(([uid, config]) => model(uid, names.get(uid) ?? uid, config, list));
}

/** Facts about each model that need the whole list. `isPriced`: at least one model has a price in credits. */
interface ListFacts {
  readonly catalogue: Catalogue;
  readonly defaultUid: string;
  readonly isPriced: boolean;
}

function model(
  uid: string,
  name: string,
  config: ClientModelConfig,
  { catalogue, defaultUid, isPriced }: ListFacts,
): AccountModel {
  const number = numberOf(config) ?? numberOfUid(uid);
  const shape = shapeOf(name);
  const effort = effortOf(config) ?? shape.effort ?? effortInLabel(config.label);
  return {
    uid: uid as ModelUid, // the server's own UID
    number,
    enumName: number === undefined ? undefined : nameByNumber.get(number),
    name,
    label: config.label === "" ? name : config.label,
    vendor: vendors[config.provider] ?? vendorByName(uid, name, config.label, catalogue),
    contextTokens: positive(config.maxTokens) ?? positive(config.modelInfo?.maxTokens),
    maxOutputTokens: positive(config.modelInfo?.maxOutputTokens),
    supportsImages: config.supportsImages,
    creditMultiplier: creditMultiplier(config, isPriced),
    costTier: costTiers[config.modelCostTier],
    isNew: config.isNew,
    isDefault: uid === defaultUid,
    disabledReason: onlyInIde.has(uid) ? "only the IDE itself can choose it" : disabledReason(config),
    family: config.modelFamilyMetadata?.modelFamilyLabel || shape.base,
    effort,
    backend: undefined, // the caller knows what the server's prompts go through
    isDefaultInFamily: config.isDefaultModelInFamily || config.modelFamilyMetadata?.isDefaultModelInFamily === true,
  };
}

/** The string UID, or the enum's name on builds that have none. */
function uidOf(config: ClientModelConfig): string {
  const choice = config.modelOrAlias?.choice;
  if (config.modelUid !== "") return config.modelUid;
  if (choice?.case === "modelUid") return choice.value;
  const number = numberOf(config);
  return number === undefined ? "" : (nameByNumber.get(number) ?? "");
}

function numberOf(config: ClientModelConfig): number | undefined {
  const choice = config.modelOrAlias?.choice;
  return choice?.case === "model" && choice.value !== 0 ? choice.value : undefined;
}

const nameByNumber = new Map(ModelSchema.values.map((value) => [value.number, value.name]));

function effortOf(config: ClientModelConfig): Effort | undefined {
  const entries = config.modelFamilyMetadata?.entries ?? [];
  const entry = entries.find(({ label }) => /effort|reasoning|thinking/i.test(label));
  return entry?.value === undefined ? undefined : parseEffort(entry.value.name);
}

/** `GPT-5.2 Medium Thinking` is medium, although its name is bare. */
function effortInLabel(label: string): Effort | undefined {
  return shapeOf(label).effort;
}

const vendors: Readonly<Partial<Record<ModelProvider, string>>> = {
  [ModelProvider.WINDSURF]: "cognition",
  [ModelProvider.OPENAI]: "openai",
  [ModelProvider.ANTHROPIC]: "anthropic",
  [ModelProvider.GOOGLE]: "google",
  [ModelProvider.XAI]: "xai",
  [ModelProvider.DEEPSEEK]: "deepseek",
  [ModelProvider.MOONSHOT]: "moonshot",
  [ModelProvider.QWEN]: "alibaba",
  [ModelProvider.ZAI]: "zhipu",
  [ModelProvider.MINIMAX]: "minimax",
};

const costTiers: Readonly<Record<ModelCostTier, Model["costTier"]>> = {
  [ModelCostTier.UNSPECIFIED]: undefined,
  [ModelCostTier.LOW]: "low",
  [ModelCostTier.MEDIUM]: "medium",
  [ModelCostTier.HIGH]: "high",
  [ModelCostTier.FREE]: "free",
};

/**
 * proto3 drops a zero. The model is free if its price is a fixed number of credits. It is also free if another model of the list
 * has a multiplier and this one has no other kind of price.
 */
function creditMultiplier({ creditMultiplier: multiplier, pricingType }: ClientModelConfig, isPriced: boolean) {
  const inCredits = isPriced && pricingType === ModelPricingType.UNSPECIFIED;
  const known = multiplier !== 0 || inCredits || pricingType === ModelPricingType.STATIC_CREDIT;
  return known ? multiplier : undefined;
}

/** Listed, but refused when a message asks for them. Source: docs/dev/wire/account.md, "Listed, but not callable". */
const onlyInIde: ReadonlySet<string> = new Set(["adaptive", "arena-fast", "arena-smart"]);

function disabledReason(config: ClientModelConfig): string | undefined {
  if (!config.disabled) return undefined;
  const { shortReason = "", description = "" } = config.disabledReason ?? {};
  return [shortReason, description].filter((text) => text !== "").join(": ") || "not included in this plan";
}

function positive(value: number | undefined): number | undefined {
  return value === undefined || value <= 0 ? undefined : value;
}
