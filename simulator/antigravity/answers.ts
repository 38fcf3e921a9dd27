import type { Quota } from "./quota.ts";

/** A model as Antigravity lists it; the placeholder numbers mean other models in every release. */
interface ListedModel {
  readonly label: string;
  readonly model: string;
  readonly maxTokens: number;
  readonly images: boolean;
  readonly metered: boolean;
}

const gemini = { maxTokens: 1_048_576, images: true, metered: true };
const claude = { ...gemini, maxTokens: 200_000 };

const models: readonly ListedModel[] = [
  { ...gemini, label: "Gemini 3.1 Pro (High)", model: "MODEL_PLACEHOLDER_M37" },
  { ...gemini, label: "Gemini 3.1 Pro (Low)", model: "MODEL_PLACEHOLDER_M36" },
  { ...gemini, label: "Gemini 3 Flash", model: "MODEL_PLACEHOLDER_M18" },
  { ...claude, label: "Claude Sonnet 4.6 (Thinking)", model: "MODEL_PLACEHOLDER_M35" },
  { ...claude, label: "Claude Opus 4.6 (Thinking)", model: "MODEL_PLACEHOLDER_M26" },
  {
    ...gemini,
    label: "GPT-OSS 120B (Medium)",
    model: "MODEL_OPENAI_GPT_OSS_120B_MEDIUM",
    maxTokens: 131_072,
    images: false,
  },
  { ...gemini, label: "Gemini 2.5 Flash Lite", model: "MODEL_GOOGLE_GEMINI_2_5_FLASH_LITE", metered: false },
];

/** One unary call as JSON: request in, answer out. */
export type JsonRpc = (request: unknown, nowMs: number) => unknown;

/**
 * The answers of Antigravity's fork of the schema, as JSON. Its calls need no API key. It takes no prompts, since the product is only
 * metered; the report shows a test whether one was tried. Source: docs/dev/wire/account.md, "Antigravity's quota".
 */
export function antigravityRpcs(quota: () => Quota): ReadonlyMap<string, JsonRpc> {
  const configs = (nowMs: number) =>
    models.map((listed) => {
      const quotaInfo = listed.metered ? quota().ofModel(listed.label, nowMs) : undefined;
      return {
        label: listed.label,
        modelOrAlias: { model: listed.model },
        ...(listed.images ? { supportsImages: true } : {}),
        isRecommended: true,
        allowedTiers: ["TEAMS_TIER_PRO", "TEAMS_TIER_TEAMS"],
        ...(quotaInfo === undefined ? {} : { quotaInfo }),
        ...(listed.images ? { supportedMimeTypes: { "image/png": true, "application/pdf": true } } : {}),
      };
    });
  const sorts = [{ name: "Recommended", groups: [{ modelLabels: models.map(({ label }) => label) }] }];
  const data = (nowMs: number) => ({ clientModelConfigs: configs(nowMs), clientModelSorts: sorts });
  const rpcs = new Map<string, JsonRpc>([
    [
      "GetUserStatus",
      (_, nowMs) => ({
        userStatus: {
          name: "Sim Ulator",
          email: "simulator@example.com",
          planStatus: {
            planInfo: {
              teamsTier: "TEAMS_TIER_PRO",
              planName: "Pro",
              monthlyPromptCredits: 50_000,
              monthlyFlowCredits: 150_000,
            },
            availablePromptCredits: 500,
            availableFlowCredits: 100,
          },
          cascadeModelConfigData: data(nowMs),
          acceptedLatestTermsOfService: true,
          userTier: { id: "g1-pro-tier", name: "Google AI Pro", description: "Google AI Pro" },
        },
      }),
    ],
    ["GetCascadeModelConfigData", (_, nowMs) => data(nowMs)],
    ["GetCommandModelConfigs", (_, nowMs) => ({ clientModelConfigs: configs(nowMs).slice(0, 2) })],
    [
      "GetAvailableModels",
      (_, nowMs) => ({
        response: {
          models: Object.fromEntries(
            configs(nowMs).map((config, i) => [
              config.label.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-"),
              {
                displayName: config.label,
                model: config.modelOrAlias.model,
                maxTokens: models[i]?.maxTokens,
                ...(config.quotaInfo === undefined ? {} : { quotaInfo: config.quotaInfo }),
              },
            ]),
          ),
        },
      }),
    ],
    ["RetrieveUserQuotaSummary", (_, nowMs) => quota().summary(nowMs)],
    ["GetUnleashData", () => ({ context: { userId: "simulator" } })],
    ["Heartbeat", (_, nowMs) => ({ lastExtensionHeartbeat: new Date(nowMs).toISOString() })],
    ["GetStatus", () => ({ status: { level: "STATUS_LEVEL_INFO", message: "OK" } })],
    ["GetAllCascadeTrajectories", () => ({})],
    ["GetWorkspaceInfos", () => ({ workspaceInfos: [{ workspaceUri: "file:///home/simulator/project" }] })],
  ]);
  for (const name of prompting) rpcs.set(name, () => undefined);
  return rpcs;
}

/** Calls that would start or feed a conversation. */
const prompting: ReadonlySet<string> = new Set(["StartCascade", "SendUserCascadeMessage"]);
