import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ClientModelConfig,
  type ClientModelConfigSchema,
  ModelProvider,
  type UserStatus,
  UserStatusSchema,
} from "../proto/windsurf/exa/codeium_common_pb.ts";

export type FakeModel = Exclude<MessageInitShape<typeof ClientModelConfigSchema>, ClientModelConfig>;

/** The status of an account with these models. */
export function fakeStatus(models: readonly FakeModel[], defaultUid = ""): UserStatus {
  return create(UserStatusSchema, {
    cascadeModelConfigData: {
      clientModelConfigs: [...models],
      ...(defaultUid === "" ? {} : { defaultOverrideModelConfig: { modelUid: defaultUid } }),
    },
  });
}

/** A numbered model, with the enum's name as UID. */
export function numbered(number: number, uid: string, label: string, more: FakeModel = {}): FakeModel {
  return { label, modelUid: uid, modelOrAlias: { choice: { case: "model", value: number as 391 } }, ...more };
}

/** An account as the facts describe one: numbered and string UIDs, slots of its own, families, variants, a disabled one. */
export const fakeModels: readonly FakeModel[] = [
  numbered(391, "MODEL_CLAUDE_4_5_OPUS", "Claude Opus 4.5", {
    provider: ModelProvider.ANTHROPIC,
    maxTokens: 200_000,
    modelInfo: { maxOutputTokens: 64_000 },
    supportsImages: true,
    creditMultiplier: 4,
  }),
  numbered(392, "MODEL_CLAUDE_4_5_OPUS_THINKING", "Claude Opus 4.5 Thinking"),
  numbered(220, "MODEL_PRIVATE_2", "Claude Sonnet 4.5"),
  numbered(221, "MODEL_PRIVATE_3", "Claude Sonnet 4.5 Thinking"),
  numbered(370, "MODEL_CLAUDE_4_5_SONNET_1M", "Claude Sonnet 4.5 (1M)"),
  numbered(347, "MODEL_PRIVATE_11", "Claude Haiku 4.5"),
  numbered(399, "MODEL_GPT_5_2_NONE", "GPT-5.2 No Thinking"),
  numbered(400, "MODEL_GPT_5_2_LOW", "GPT-5.2 Low Thinking"),
  numbered(401, "MODEL_GPT_5_2_MEDIUM", "GPT-5.2 Medium Thinking"),
  numbered(402, "MODEL_GPT_5_2_HIGH", "GPT-5.2 High Thinking"),
  numbered(406, "MODEL_GPT_5_2_MEDIUM_PRIORITY", "GPT-5.2 Medium Thinking Fast"),
  numbered(349, "MODEL_PRIVATE_13", "GPT-5.1 Low Thinking"),
  numbered(351, "MODEL_PRIVATE_15", "GPT-5.1 High Thinking"),
  numbered(379, "MODEL_GOOGLE_GEMINI_3_0_PRO_HIGH", "Gemini 3 Pro High", { maxTokens: 1_048_576 }),
  { label: "Claude Opus 4.7 Low", modelUid: "claude-opus-4-7-low" },
  { label: "Claude Opus 4.7 Medium", modelUid: "claude-opus-4-7-medium", isNew: true },
  { label: "Claude Opus 4.7 High", modelUid: "claude-opus-4-7-high" },
  { label: "Claude Opus 4.7 Medium Fast", modelUid: "claude-opus-4-7-medium-fast" },
  { label: "GPT-5.5 High Thinking", modelUid: "gpt-5-5-high", isDefaultModelInFamily: true },
  { label: "GPT-5.5 Low Thinking", modelUid: "gpt-5-5-low" },
  {
    label: "Claude Opus 5 Max",
    modelUid: "claude-opus-5-max",
    disabled: true,
    disabledReason: { shortReason: "Upgrade to Pro" },
  },
  { label: "Kimi K2.6", modelUid: "kimi-k2-6" },
  { label: "Brand New 9", modelUid: "brand-new-9-high" },
  { label: "SWE-1.5", modelUid: "MODEL_SWE_1_5_SLOW" },
];
