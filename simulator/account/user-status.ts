import { create } from "@bufbuild/protobuf";
import {
  BillingStrategy,
  type ClientModelConfig,
  ModelProviderSchema,
  type PlanStatus,
  TeamsTier,
  type UserStatus,
  UserStatusSchema,
} from "../../src/proto/windsurf/exa/codeium_common_pb.ts";

/** The account of the person signed in, as `GetUserStatus` answers it. Source: docs/dev/wire/account.md, "User status". */
export function userStatus(models: readonly ClientModelConfig[], planStatus: PlanStatus | undefined): UserStatus {
  return create(UserStatusSchema, {
    pro: true,
    name: "Sim Ulator",
    teamId: "3c6b2a9e-5d1f-4e7a-9b80-2f4d6c8e0a12",
    email: "simulator@example.com",
    teamsTier: TeamsTier.PRO,
    ...(planStatus === undefined ? {} : { planStatus }),
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

/** The same as a build before February 2026 writes it. Source: docs/dev/wire/account.md, "User status". */
export function withoutNewFields(status: UserStatus): UserStatus {
  const info = status.planStatus?.planInfo;
  if (info !== undefined) {
    info.billingStrategy = BillingStrategy.UNSPECIFIED;
    info.hideDailyQuota = false;
  }
  const data = status.cascadeModelConfigData;
  if (data === undefined) return status;
  const clientModelConfigs = data.clientModelConfigs.map((model) => ({
    ...model,
    modelFamilyMetadata: undefined,
    isDefaultModelInFamily: false,
    modelDimensions: [],
    disabledReason: undefined,
  }));
  return { ...status, cascadeModelConfigData: { ...data, clientModelConfigs } };
}

function groupByProvider(models: readonly ClientModelConfig[]) {
  const groups = new Map<string, string[]>();
  for (const { provider, label } of models) {
    const value = ModelProviderSchema.values.find((one) => one.number === provider);
    const name = value?.localName ?? "UNSPECIFIED";
    groups.set(name, [...(groups.get(name) ?? []), label]);
  }
  return [...groups].map(([groupName, modelLabels]) => ({ groupName, modelLabels }));
}
