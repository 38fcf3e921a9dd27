import { create } from "@bufbuild/protobuf";
import {
  APIProvider,
  type ClientModelConfig,
  ClientModelConfigSchema,
  type Model,
  ModelCostTier,
  ModelPricingType,
  ModelProvider,
  ModelSchema,
  ModelType,
  TeamsTier,
} from "../../proto/windsurf/exa/codeium_common_pb.ts";

const vendors = {
  windsurf: [ModelProvider.WINDSURF, APIProvider.API_PROVIDER_INTERNAL],
  openai: [ModelProvider.OPENAI, APIProvider.API_PROVIDER_OPENAI],
  anthropic: [ModelProvider.ANTHROPIC, APIProvider.API_PROVIDER_ANTHROPIC],
  google: [ModelProvider.GOOGLE, APIProvider.API_PROVIDER_GOOGLE_GEMINI],
  xai: [ModelProvider.XAI, APIProvider.API_PROVIDER_XAI],
  deepseek: [ModelProvider.DEEPSEEK, APIProvider.API_PROVIDER_FIREWORKS],
  moonshot: [ModelProvider.MOONSHOT, APIProvider.API_PROVIDER_FIREWORKS],
  zhipu: [ModelProvider.ZAI, APIProvider.API_PROVIDER_CEREBRAS],
  minimax: [ModelProvider.MINIMAX, APIProvider.API_PROVIDER_FIREWORKS],
} as const;

const costTiers = {
  free: ModelCostTier.FREE,
  low: ModelCostTier.LOW,
  medium: ModelCostTier.MEDIUM,
  high: ModelCostTier.HIGH,
} as const;

/** One line of the account's list, before it is spelled out as a message. */
interface Row {
  /** String UID, or a number of the `Model` enum whose name is then the UID. */
  readonly id: string | number;
  readonly label: string;
  readonly vendor: keyof typeof vendors;
  readonly credits: number;
  readonly tier: keyof typeof costTiers;
  readonly context: number;
  readonly output: number;
  readonly images?: boolean;
  readonly thinking?: boolean;
  readonly isNew?: boolean;
  readonly recommended?: boolean;
  /** Family and effort, as newer builds group them. */
  readonly family?: string;
  readonly effort?: string;
  readonly familyDefault?: boolean;
  readonly disabled?: string;
}

const claude = { vendor: "anthropic", context: 200_000, output: 64_000, images: true } as const;
const gpt = { vendor: "openai", context: 400_000, output: 128_000, images: true } as const;
const gemini = { vendor: "google", context: 1_048_576, output: 65_536, images: true } as const;
const effortOrder = ["No Thinking", "Minimal", "Low", "Medium", "High", "XHigh", "Max"];

function family(name: string, effort: string, familyDefault = false) {
  return { family: name, effort, familyDefault };
}

const opus47 = (id: string, effort: string, credits: number, isDefault = false): Row => ({
  ...claude,
  id,
  label: `Claude Opus 4.7 ${effort}`,
  credits,
  tier: "high",
  isNew: true,
  thinking: true,
  recommended: isDefault,
  ...family("Claude Opus 4.7", effort, isDefault),
});

const gpt55 = (id: string, effort: string, credits: number, isDefault = false): Row => ({
  ...gpt,
  id,
  label: effort === "No Thinking" ? "GPT-5.5 No Thinking" : `GPT-5.5 ${effort} Thinking`,
  credits,
  tier: "medium",
  isNew: true,
  thinking: effort !== "No Thinking",
  ...family("GPT-5.5", effort, isDefault),
});

/**
 * The account's models. Source: docs/wire/models.md.
 * Longer than 300 lines because the list is data.
 */
const rows: readonly Row[] = [
  opus47("claude-opus-4-7-low", "Low", 4),
  opus47("claude-opus-4-7-medium", "Medium", 6, true),
  opus47("claude-opus-4-7-high", "High", 8),
  opus47("claude-opus-4-7-max", "Max", 20),
  { ...claude, id: 391, label: "Claude Opus 4.5", credits: 4, tier: "high" },
  { ...claude, id: 392, label: "Claude Opus 4.5 Thinking", credits: 5, tier: "high", thinking: true },
  { ...claude, id: "claude-sonnet-4-6", label: "Claude Sonnet 4.6", credits: 2, tier: "medium", recommended: true },
  {
    ...claude,
    id: "claude-sonnet-4-6-thinking",
    label: "Claude Sonnet 4.6 Thinking",
    credits: 3,
    tier: "medium",
    thinking: true,
  },
  {
    ...claude,
    id: "claude-sonnet-4-6-1m",
    label: "Claude Sonnet 4.6 1M",
    credits: 6,
    tier: "high",
    context: 1_000_000,
  },
  { ...claude, id: 220, label: "Claude Sonnet 4.5", credits: 2, tier: "medium" },
  { ...claude, id: 221, label: "Claude Sonnet 4.5 Thinking", credits: 3, tier: "medium", thinking: true },
  { ...claude, id: 347, label: "Claude Haiku 4.5", credits: 1, tier: "low" },
  gpt55("gpt-5-5-none", "No Thinking", 1),
  gpt55("gpt-5-5-low", "Low", 1.5),
  gpt55("gpt-5-5-medium", "Medium", 2, true),
  gpt55("gpt-5-5-high", "High", 4),
  {
    ...gpt,
    id: "gpt-5-4-low-priority",
    label: "GPT-5.4 Low Thinking Fast",
    credits: 2,
    tier: "medium",
    thinking: true,
  },
  { ...gpt, id: 399, label: "GPT-5.2 No Thinking", credits: 1, tier: "low", ...family("GPT-5.2", "No Thinking") },
  {
    ...gpt,
    id: 400,
    label: "GPT-5.2 Low Thinking",
    credits: 1,
    tier: "low",
    thinking: true,
    ...family("GPT-5.2", "Low"),
  },
  {
    ...gpt,
    id: 401,
    label: "GPT-5.2 Medium Thinking",
    credits: 1.5,
    tier: "medium",
    thinking: true,
    ...family("GPT-5.2", "Medium", true),
  },
  {
    ...gpt,
    id: 402,
    label: "GPT-5.2 High Thinking",
    credits: 3,
    tier: "medium",
    thinking: true,
    ...family("GPT-5.2", "High"),
  },
  { ...gpt, id: "gpt-5-3-codex-medium", label: "GPT-5.3-Codex Medium", credits: 1, tier: "low", thinking: true },
  {
    ...gpt,
    id: 259,
    label: "GPT-4.1",
    credits: 1,
    tier: "low",
    context: 1_047_576,
    output: 32_768,
    disabled: "Retired",
  },
  {
    ...gemini,
    id: "gemini-3-5-flash-medium",
    label: "Gemini 3.5 Flash Medium",
    credits: 0.75,
    tier: "low",
    thinking: true,
    isNew: true,
  },
  { ...gemini, id: "gemini-3-1-pro-high", label: "Gemini 3.1 Pro High", credits: 2, tier: "medium", thinking: true },
  { ...gemini, id: 415, label: "Gemini 3 Flash Medium", credits: 0.75, tier: "low", thinking: true },
  { id: 222, label: "Grok Code Fast 1", vendor: "xai", credits: 0.5, tier: "low", context: 256_000, output: 32_768 },
  {
    id: "kimi-k2-6",
    label: "Kimi K2.6",
    vendor: "moonshot",
    credits: 0.5,
    tier: "low",
    context: 262_144,
    output: 32_768,
  },
  {
    id: "deepseek-v4",
    label: "DeepSeek V4",
    vendor: "deepseek",
    credits: 0.5,
    tier: "low",
    context: 131_072,
    output: 32_768,
  },
  { id: "glm-5-1", label: "GLM 5.1", vendor: "zhipu", credits: 0.5, tier: "low", context: 204_800, output: 32_768 },
  { id: 419, label: "Minimax M2.5", vendor: "minimax", credits: 0.5, tier: "low", context: 204_800, output: 32_768 },
  { id: 377, label: "SWE-1.5", vendor: "windsurf", credits: 0, tier: "free", context: 128_000, output: 16_384 },
  { id: 359, label: "SWE-1.5 Fast", vendor: "windsurf", credits: 0.5, tier: "low", context: 128_000, output: 16_384 },
  {
    id: "swe-1-6",
    label: "SWE-1.6",
    vendor: "windsurf",
    credits: 0,
    tier: "free",
    context: 200_000,
    output: 32_768,
    isNew: true,
    recommended: true,
  },
  {
    id: "swe-1-6-fast",
    label: "SWE-1.6 Fast",
    vendor: "windsurf",
    credits: 0.5,
    tier: "low",
    context: 200_000,
    output: 32_768,
    isNew: true,
  },
  {
    ...claude,
    id: "claude-opus-5-high",
    label: "Claude Opus 5 High",
    credits: 12,
    tier: "high",
    thinking: true,
    isNew: true,
    disabled: "Upgrade to Max",
  },
  {
    ...gpt,
    id: "gpt-5-6-luna-high",
    label: "GPT-5.6 Luna High Thinking",
    credits: 6,
    tier: "high",
    thinking: true,
    isNew: true,
    disabled: "Upgrade to Max",
  },
  {
    id: "adaptive",
    label: "Adaptive",
    vendor: "windsurf",
    credits: 1,
    tier: "low",
    context: 200_000,
    output: 32_768,
    images: true,
  },
];

/** Listed, but the server knows no route for them. Source: docs/wire/models.md, "Listed, but not callable". */
export const notCallable: ReadonlySet<string> = new Set(["adaptive", "arena-fast", "arena-smart"]);

/** Enum numbers of retired models: a clear text asks the user to switch. */
export const retired: ReadonlySet<number> = new Set([30, 71, 117, 166, 226, 227, 259, 260, 261]);

/** The UID of a numbered model is the name of its enum value. Source: docs/wire/models.md, "Model ids". */
export function uidOfNumber(number: number): string | undefined {
  return number === 0 ? undefined : ModelSchema.values.find((value) => value.number === number)?.name;
}

/** The account's models as `GetUserStatus` lists them, in the picker's order. `count`: so many, the rest made by rule. */
export function accountModels(count: number = rows.length): ClientModelConfig[] {
  return [...rows, ...madeRows(count - rows.length)].map(spellOut);
}

/** Models as a large account has them: families of several vendors, each in all efforts and lanes, that no table of names knows. */
function madeRows(count: number): Row[] {
  const lines = [
    { ...gpt, id: "gpt-6-sol", name: "GPT-6 Sol" },
    { ...claude, id: "claude-opus-5-5", name: "Claude Opus 5.5" },
    { ...claude, id: "claude-sonnet-5", name: "Claude Sonnet 5" },
    { ...gemini, id: "gemini-4-pro", name: "Gemini 4 Pro" },
    { ...gpt, id: "gpt-6-1-codex", name: "GPT-6.1 Codex" },
    { ...gpt, id: "swe-2", name: "SWE-2", vendor: "windsurf" as const },
  ];
  const efforts = effortOrder.slice(1).map((effort) => effort.toLowerCase());
  const lanes = ["", "-fast", "-1m", "-thinking"];
  return Array.from({ length: Math.max(0, count) }, (_, i): Row => {
    const line = lines[i % lines.length] ?? lines[0];
    const at = Math.floor(i / lines.length);
    const effort = efforts[at % efforts.length] ?? "";
    const lane = lanes[Math.floor(at / efforts.length) % lanes.length] ?? "";
    const generation = Math.floor(at / efforts.length / lanes.length);
    const id = `${line?.id ?? ""}${generation === 0 ? "" : `-r${generation}`}-${effort}${lane}`;
    const label = [line?.name, generation === 0 ? "" : `R${generation}`, effort, lane.slice(1)]
      .filter((w) => w !== "")
      .join(" ");
    return {
      ...(line ?? gpt),
      id,
      label,
      vendor: line?.vendor ?? "openai",
      credits: (i % 4) * 0.5,
      tier: i % 4 === 0 ? "free" : "medium",
    };
  });
}

function spellOut(row: Row): ClientModelConfig {
  const number = (typeof row.id === "number" ? row.id : 0) as Model; // the table holds only numbers of the enum
  const uid = typeof row.id === "string" ? row.id : (uidOfNumber(row.id) ?? String(row.id));
  const [provider, apiProvider] = vendors[row.vendor];
  return create(ClientModelConfigSchema, {
    label: row.label,
    modelOrAlias: number === 0 ? {} : { choice: { case: "model", value: number } },
    creditMultiplier: row.credits,
    disabled: row.disabled !== undefined,
    supportsImages: row.images ?? false,
    isPremium: row.tier === "high" || row.tier === "medium",
    provider,
    isRecommended: row.recommended ?? false,
    allowedTiers: [TeamsTier.TEAMS, TeamsTier.PRO, TeamsTier.ENTERPRISE_SAAS, TeamsTier.TRIAL],
    pricingType: ModelPricingType.STATIC_CREDIT,
    apiProvider,
    isNew: row.isNew ?? false,
    maxTokens: row.context,
    modelUid: uid,
    modelInfo: {
      modelId: number,
      modelType: ModelType.CHAT,
      maxTokens: row.context,
      modelFeatures: {
        supportsImages: row.images ?? false,
        supportsToolCalls: true,
        supportsParallelToolCalls: true,
        supportsThinking: row.thinking ?? false,
        supportsEstimateTokenCounter: true,
      },
      apiProvider,
      modelName: uid.toLowerCase(),
      supportsContext: true,
      maxOutputTokens: row.output,
      modelUid: uid,
    },
    modelCostTier: costTiers[row.tier],
    isDefaultModelInFamily: row.familyDefault ?? false,
    ...(row.family === undefined || row.effort === undefined
      ? {}
      : {
          modelFamilyMetadata: {
            modelFamilyLabel: row.family,
            entries: [
              {
                label: "Reasoning Effort",
                value: { order: effortOrder.indexOf(row.effort), name: row.effort },
              },
            ],
            isDefaultModelInFamily: row.familyDefault ?? false,
          },
        }),
    ...(row.disabled === undefined
      ? {}
      : { disabledReason: { shortReason: row.disabled, link: "https://windsurf.com/plan" } }),
  });
}
