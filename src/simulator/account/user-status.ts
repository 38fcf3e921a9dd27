import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  BillingStrategy,
  type ClientModelConfig,
  GracePeriodStatus,
  TeamsTier,
  type UserStatus,
  UserStatusSchema,
} from "../../proto/windsurf/exa/codeium_common_pb.ts";

const dayMs = 86_400_000;

/** What the account has used of its plan, in hundredths of a credit. */
export interface Spending {
  promptCreditsHundredths: number;
}

/** The account of the person signed in, as `GetUserStatus` answers it. Source: facts/language-server.md, 1.8. */
export function userStatus(models: readonly ClientModelConfig[], spending: Spending, nowMs: number): UserStatus {
  const planStart = nowMs - (nowMs % dayMs) - 11 * dayMs;
  const monthly = 50_000;
  return create(UserStatusSchema, {
    pro: true,
    name: "Sim Ulator",
    teamId: "3c6b2a9e-5d1f-4e7a-9b80-2f4d6c8e0a12",
    email: "simulator@example.com",
    teamsTier: TeamsTier.PRO,
    planStatus: {
      planInfo: {
        teamsTier: TeamsTier.PRO,
        planName: "Pro",
        hasAutocompleteFastMode: true,
        allowStickyPremiumModels: true,
        maxNumChatInputTokens: 16_384n,
        maxCustomChatInstructionCharacters: 600n,
        maxNumPinnedContextItems: 30n,
        maxLocalIndexSize: 10_000n,
        monthlyPromptCredits: monthly,
        monthlyFlowCredits: 120_000,
        allowPremiumCommandModels: true,
        canBuyMoreCredits: true,
        cascadeWebSearchEnabled: true,
        cascadeCanAutoRunCommands: true,
        hasTabToJump: true,
        hasPaidFeatures: true,
        billingStrategy: BillingStrategy.CREDITS,
      },
      planStart: timestampFromMs(planStart),
      planEnd: timestampFromMs(planStart + 30 * dayMs),
      availablePromptCredits: monthly,
      availableFlowCredits: 120_000,
      availableFlexCredits: 2_500,
      usedPromptCredits: spending.promptCreditsHundredths,
      topUpStatus: { topUpEnabled: false },
      gracePeriodStatus: GracePeriodStatus.NONE,
    },
    hasFingerprintSet: true,
    hasUsedWindsurf: true,
    cascadeModelConfigData: {
      clientModelConfigs: [...models],
      clientModelSorts: [{ name: "Provider", groups: groupByProvider(models) }],
      defaultOverrideModelConfig: { versionId: "1", modelUid: "claude-sonnet-4-6" },
    },
    userId: "b8a5c0d4-7f36-4d2e-8a19-6e0c3b5f7d21",
  });
}

function groupByProvider(models: readonly ClientModelConfig[]) {
  const groups = new Map<number, string[]>();
  for (const model of models) groups.set(model.provider, [...(groups.get(model.provider) ?? []), model.label]);
  return [...groups].map(([provider, modelLabels]) => ({ groupName: String(provider), modelLabels }));
}
