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
} from "../../src/proto/windsurf/exa/codeium_common_pb.ts";

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

/** What the models of one vendor have in common. */
interface Line {
  readonly vendor: keyof typeof vendors;
  readonly context: number;
  readonly output: number;
  readonly images: boolean;
}

/** One line of the account's list, before it is spelled out as a message. */
interface Row extends Line {
  /** String UID, or a number of the `Model` enum whose name is then the UID. */
  readonly id: string | number;
  readonly label: string;
  readonly credits: number;
  /** By the credits if absent. */
  readonly tier?: ModelCostTier;
  readonly thinking?: boolean;
  readonly isNew?: boolean;
  readonly recommended?: boolean;
  /** Family and effort, as newer builds group them. */
  readonly family?: string;
  readonly effort?: string;
  readonly familyDefault?: boolean;
  readonly disabled?: string;
}

type Rest = Partial<Omit<Row, "id" | "label" | "credits">>;
type Add = (id: string | number, label: string, credits: number, rest?: Rest) => Row;

const of =
  (line: Line): Add =>
  (id, label, credits, rest = {}) => ({ ...line, id, label, credits, ...rest });
const others = (vendor: Line["vendor"], context: number, output = 32_768): Add =>
  of({ vendor, context, output, images: false });

const claudeLine: Line = { vendor: "anthropic", context: 200_000, output: 64_000, images: true };
const gptLine: Line = { vendor: "openai", context: 400_000, output: 128_000, images: true };
const geminiLine: Line = { vendor: "google", context: 1_048_576, output: 65_536, images: true };
const [claude, gpt, gemini] = [of(claudeLine), of(gptLine), of(geminiLine)];
const swe = others("windsurf", 200_000);
const effortOrder = ["No Thinking", "Minimal", "Low", "Medium", "High", "XHigh", "Max"];

/** The models of a family, which differ in their effort. `suffix` follows the effort in the labels of those that think. */
const ofFamily =
  (add: Add, family: string, suffix = ""): Add =>
  (id, effort, credits, rest = {}) => {
    const thinks = effort !== "No Thinking";
    const label = `${family} ${effort}${thinks ? suffix : ""}`;
    return add(id, label, credits, { thinking: thinks, family, effort, ...rest });
  };

const opus47 = ofFamily(claude, "Claude Opus 4.7");
const gpt55 = ofFamily(gpt, "GPT-5.5", " Thinking");
const gpt52 = ofFamily(gpt, "GPT-5.2", " Thinking");
const isNew = true;
const thinking = true;
const newGpt: Rest = { isNew, tier: ModelCostTier.MEDIUM };

/** The account's models. Source: docs/dev/wire/account.md. */
const rows: readonly Row[] = [
  opus47("claude-opus-4-7-low", "Low", 4, { isNew }),
  opus47("claude-opus-4-7-medium", "Medium", 6, { isNew, recommended: true, familyDefault: true }),
  opus47("claude-opus-4-7-high", "High", 8, { isNew }),
  opus47("claude-opus-4-7-max", "Max", 20, { isNew }),
  claude(391, "Claude Opus 4.5", 4),
  claude(392, "Claude Opus 4.5 Thinking", 5, { thinking }),
  claude("claude-sonnet-4-6", "Claude Sonnet 4.6", 2, { recommended: true }),
  claude("claude-sonnet-4-6-thinking", "Claude Sonnet 4.6 Thinking", 3, { thinking }),
  claude("claude-sonnet-4-6-1m", "Claude Sonnet 4.6 1M", 6, { context: 1_000_000 }),
  claude(220, "Claude Sonnet 4.5", 2),
  claude(221, "Claude Sonnet 4.5 Thinking", 3, { thinking }),
  claude(347, "Claude Haiku 4.5", 1),
  gpt55("gpt-5-5-none", "No Thinking", 1, newGpt),
  gpt55("gpt-5-5-low", "Low", 1.5, newGpt),
  gpt55("gpt-5-5-medium", "Medium", 2, { ...newGpt, familyDefault: true }),
  gpt55("gpt-5-5-high", "High", 4, newGpt),
  gpt("gpt-5-4-low-priority", "GPT-5.4 Low Thinking Fast", 2, { thinking }),
  gpt52(399, "No Thinking", 1),
  gpt52(400, "Low", 1),
  gpt52(401, "Medium", 1.5, { familyDefault: true }),
  gpt52(402, "High", 3),
  gpt("gpt-5-3-codex-medium", "GPT-5.3-Codex Medium", 1, { thinking }),
  gpt(259, "GPT-4.1", 1, { context: 1_047_576, output: 32_768, disabled: "Retired" }),
  gemini("gemini-3-5-flash-medium", "Gemini 3.5 Flash Medium", 0.75, { thinking, isNew }),
  gemini("gemini-3-1-pro-high", "Gemini 3.1 Pro High", 2, { thinking }),
  gemini(415, "Gemini 3 Flash Medium", 0.75, { thinking }),
  others("xai", 256_000)(222, "Grok Code Fast 1", 0.5),
  others("moonshot", 262_144)("kimi-k2-6", "Kimi K2.6", 0.5),
  others("deepseek", 131_072)("deepseek-v4", "DeepSeek V4", 0.5),
  others("zhipu", 204_800)("glm-5-1", "GLM 5.1", 0.5),
  others("minimax", 204_800)(419, "Minimax M2.5", 0.5),
  others("windsurf", 128_000, 16_384)(377, "SWE-1.5", 0),
  others("windsurf", 128_000, 16_384)(359, "SWE-1.5 Fast", 0.5),
  swe("swe-1-6", "SWE-1.6", 0, { isNew, recommended: true }),
  swe("swe-1-6-fast", "SWE-1.6 Fast", 0.5, { isNew }),
  claude("claude-opus-5-high", "Claude Opus 5 High", 12, { thinking, isNew, disabled: "Upgrade to Max" }),
  gpt("gpt-5-6-luna-high", "GPT-5.6 Luna High Thinking", 6, { thinking, isNew, disabled: "Upgrade to Max" }),
  swe("adaptive", "Adaptive", 1, { images: true }),
];

/** The cost tier of most models at their price. */
function tierOf(credits: number): ModelCostTier {
  if (credits === 0) return ModelCostTier.FREE;
  if (credits < 1.5) return ModelCostTier.LOW;
  return credits < 4 ? ModelCostTier.MEDIUM : ModelCostTier.HIGH;
}

/** Listed, but the server knows no route for them. Source: docs/dev/wire/account.md, "Listed, but not callable". */
export const notCallable: ReadonlySet<string> = new Set(["adaptive", "arena-fast", "arena-smart"]);

/** Enum numbers of retired models: a clear text asks the user to switch. */
export const retired: ReadonlySet<number> = new Set([30, 71, 117, 166, 226, 227, 259, 260, 261]);

/** The UID of a numbered model is the name of its enum value. Source: docs/dev/wire/account.md, "Model ids". */
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
    { line: gptLine, id: "gpt-6-sol", name: "GPT-6 Sol" },
    { line: claudeLine, id: "claude-opus-5-5", name: "Claude Opus 5.5" },
    { line: claudeLine, id: "claude-sonnet-5", name: "Claude Sonnet 5" },
    { line: geminiLine, id: "gemini-4-pro", name: "Gemini 4 Pro" },
    { line: gptLine, id: "gpt-6-1-codex", name: "GPT-6.1 Codex" },
    { line: { ...gptLine, vendor: "windsurf" as const }, id: "swe-2", name: "SWE-2" },
  ];
  const efforts = effortOrder.slice(1).map((effort) => effort.toLowerCase());
  const lanes = ["", "fast", "1m", "thinking"];
  const generations = Math.ceil(count / lines.length / efforts.length / lanes.length);
  const revisions = Array.from({ length: generations }, (_, i) => (i === 0 ? "" : `R${i}`));
  const names = revisions.flatMap((revision) =>
    lanes.flatMap((lane) =>
      efforts.flatMap((effort) => lines.map((line) => ({ ...line, words: [revision, effort, lane].filter(Boolean) }))),
    ),
  );
  return names.slice(0, count).map(({ line, id, name, words }, i) => ({
    ...line,
    id: [id, ...words].join("-").toLowerCase(),
    label: [name, ...words].join(" "),
    credits: (i % 4) * 0.5,
    tier: i % 4 === 0 ? ModelCostTier.FREE : ModelCostTier.MEDIUM,
  }));
}

function spellOut(row: Row): ClientModelConfig {
  const number = (typeof row.id === "number" ? row.id : 0) as Model; // the table holds only numbers of the enum
  const uid = typeof row.id === "string" ? row.id : (uidOfNumber(row.id) ?? String(row.id));
  const [provider, apiProvider] = vendors[row.vendor];
  const tier = row.tier ?? tierOf(row.credits);
  return create(ClientModelConfigSchema, {
    label: row.label,
    modelOrAlias: number === 0 ? {} : { choice: { case: "model", value: number } },
    creditMultiplier: row.credits,
    disabled: row.disabled !== undefined,
    supportsImages: row.images,
    isPremium: tier === ModelCostTier.HIGH || tier === ModelCostTier.MEDIUM,
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
        supportsImages: row.images,
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
    modelCostTier: tier,
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
