import { create } from "@bufbuild/protobuf";
import type { ModelUid } from "../../src/base/ids.ts";
import type { IdeVerdicts } from "../../src/cli/compose/ide-verdicts.ts";
import { fakeModelOf } from "../../src/models/models.fake.ts";
import { BillingStrategy, type UserStatus, UserStatusSchema } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import type { LimitsSnapshot } from "../../src/usage/limits.ts";
import { windsurfSnapshot } from "../../src/usage/windsurf-plan.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** A Windsurf plan in percent at this moment: half of the day's and a third of the week's window is over. */
export function planNow(
  nowMs: number,
  used: { readonly daily: number; readonly weekly: number },
  resets = { dailyMs: nowMs + 12 * hour, weeklyMs: nowMs + 4.67 * day },
): UserStatus {
  return create(UserStatusSchema, {
    email: "ada@example.com",
    planStatus: {
      planInfo: { planName: "Pro", billingStrategy: BillingStrategy.QUOTA },
      dailyQuotaRemainingPercent: 100 - used.daily,
      weeklyQuotaRemainingPercent: 100 - used.weekly,
      dailyQuotaResetAtUnix: BigInt(Math.round(resets.dailyMs / 1000)),
      weeklyQuotaResetAtUnix: BigInt(Math.round(resets.weeklyMs / 1000)),
      overageBalanceMicros: 12_500_000n,
    },
  });
}

/** Antigravity's models as its server tells them now. */
export function antigravityNow(nowMs: number): unknown {
  const resetTime = new Date(nowMs + 2 * hour).toISOString();
  const model = (label: string, remainingFraction: number) => ({ label, quotaInfo: { remainingFraction, resetTime } });
  const clientModelConfigs = [
    model("Gemini 3 Pro (High)", 0.9),
    model("Gemini 3 Flash", 0.86),
    model("Claude Opus 4.5", 0.12),
  ];
  return { userStatus: { userTier: { name: "Google AI Pro" }, cascadeModelConfigData: { clientModelConfigs } } };
}

const claude = { vendor: "anthropic", family: "claude-opus-4.5", contextTokens: 200_000, creditMultiplier: 4 } as const;

/** A list with a family of variants, the UIDs of past turns, and one model that the plan does not have. */
export const someModels = [
  fakeModelOf("test-model", { vendor: "openai", isDefault: true }),
  fakeModelOf("claude-opus-4.5:high", { ...claude, uid: "claude-opus-4-5" as ModelUid, effort: "high" }),
  fakeModelOf("claude-opus-4.5:low", { ...claude, effort: "low", creditMultiplier: 2, costTier: "medium" }),
  fakeModelOf("swe-1.5", { uid: "swe-1p5" as ModelUid, vendor: "windsurf", costTier: "free", creditMultiplier: 0 }),
  fakeModelOf("gpt-6-pro", { vendor: "openai", disabledReason: "Your plan does not include this model.", isNew: true }),
];

const vendors = ["openai", "anthropic", "google", "cognition", "a vendor with a long name"] as const;

/** Models with names as long as real ones, of several vendors and prices. */
export function manyModels(count: number) {
  return Array.from({ length: count }, (_, at) =>
    fakeModelOf(`family-${Math.floor(at / 4)}-preview-2026-11:${["low", "medium", "high", "max"][at % 4]}`, {
      vendor: vendors[at % vendors.length] ?? "openai",
      family: `family-${Math.floor(at / 4)}-preview-2026-11`,
      effort: ["low", "medium", "high", "max"][at % 4],
      creditMultiplier: at % 7,
    }),
  );
}

/** What doctor says where an IDE can be used, with something to do about another. */
export function someIdes(nowMs: number): IdeVerdicts {
  return {
    object: "ides",
    looked_at: new Date(nowMs).toISOString(),
    data: [
      {
        variant: "devin",
        product: "Devin Desktop 2.3 (formerly Windsurf)",
        stand_in: false,
        build: "2.3.15",
        pid: 4711,
        state: "ready",
      },
      {
        variant: "devin-next",
        product: "Devin Desktop Next 2.4 (formerly Windsurf Next)",
        stand_in: true,
        build: "2.4.0+next.1",
        pid: 4712,
        state: "not signed in",
      },
      {
        variant: "antigravity",
        product: "Antigravity 1.14",
        stand_in: false,
        build: "1.14.2",
        pid: 4713,
        state: "metered only",
      },
    ],
    findings: [
      { area: "ide", level: "ok", what: "An IDE can be used" },
      {
        area: "ide",
        level: "warning",
        what: "Windsurf Next (pid 4712): its schema cannot be read",
        todo: "Nothing, as long as answers come; please report it.",
      },
    ],
    rejected: [{ subject: "process 815", why: "its port belongs to another user" }],
  };
}

export function withoutUsableIde(
  nowMs: number,
  { signedOut = false, usesAgent = false }: { readonly signedOut?: boolean; readonly usesAgent?: boolean },
): IdeVerdicts {
  const [what, todo] = signedOut
    ? ["Devin Desktop 2.3 (formerly Windsurf) runs, but no account is signed in there", "Sign in inside the IDE."]
    : ["No IDE with a language server was found", "Start Windsurf and open a folder."];
  const here = {
    variant: "devin",
    product: "Devin Desktop 2.3 (formerly Windsurf)",
    stand_in: false,
    build: "2.3.15",
    pid: 4711,
    state: "not signed in",
  } as const;
  return {
    object: "ides",
    looked_at: new Date(nowMs).toISOString(),
    data: signedOut ? [here] : [],
    findings: [
      ...(usesAgent ? [{ area: "ide", level: "ok", what: "The agent of Devin CLI can be asked" } as const] : []),
      { area: "ide", level: "error", what, todo },
    ],
    rejected: [],
  };
}

/** Three days of readings, every hour: a daily limit that fills and resets, and a weekly one that fills, by this share. */
export function pastReadings(now: number, share = 1): readonly LimitsSnapshot[] {
  return Array.from({ length: 56 }, (_, index) => {
    const hoursAgo = 56 - index;
    const atMs = now - hoursAgo * hour;
    const intoDay = (36 - hoursAgo + 48) % 24; // the day's window resets 12 hours from now
    const used = { daily: Math.round((intoDay / 24) * 76 * share), weekly: Math.round((index / 56) * 61 * share) };
    const resets = { dailyMs: atMs + (24 - intoDay) * hour, weeklyMs: now + 4.67 * day };
    return windsurfSnapshot(planNow(atMs, used, resets), {
      ide: "windsurf",
      build: "2.3.15",
      readAtMs: atMs,
      source: "language_server",
    });
  });
}
