import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  BillingStrategy,
  GracePeriodStatus,
  type PlanStatus,
  PlanStatusSchema,
  TeamsTier,
} from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import { MessageRate } from "./message-rate.ts";
import type { PlanOptions } from "./plan-options.ts";
import { QuotaWindow, type WindowUse } from "./quota-window.ts";

const dayMs = 86_400_000;
const monthlyFlow = 120_000;

/** By its name among the errors of a turn: of the week, or of the day or the cycle. */
export type QuotaError = "quota" | "weekly_quota";

/** The used part of a plan: plain data, passed to the process that follows a restart. */
export interface PlanUse {
  /** Hundredths of prompt credits. */
  readonly prompt: number;
  readonly daily: WindowUse;
  readonly weekly: WindowUse;
  readonly overageMicros: number;
}

/** When the short window resets, counted from the start of the simulator. */
const resetInMs = 5 * 3_600_000;

/** The used part of a plan at its start. */
export function initialUse(options: PlanOptions, nowMs: number): PlanUse {
  const resetsAtMs = nowMs + resetInMs;
  return {
    prompt: Math.round((options.creditsHundredths * options.used) / 100),
    daily: { usedPercent: options.used, resetsAtMs },
    weekly: { usedPercent: options.usedWeekly ?? options.used / 4, resetsAtMs: resetsAtMs + 4 * dayMs },
    overageMicros: options.overageMicros ?? 0,
  };
}

/**
 * A Windsurf plan, in credits or in percent, that drains as turns run. Source: docs/dev/wire/account.md, "Plan and credits".
 */
export class Plan {
  readonly #options: PlanOptions;
  readonly #daily: QuotaWindow;
  readonly #weekly: QuotaWindow;
  readonly messages: MessageRate | undefined;
  readonly #cycleStartMs: number;
  #prompt: number;
  #overageMicros: number;

  constructor(options: PlanOptions, use: PlanUse) {
    this.#options = options;
    this.#daily = new QuotaWindow(dayMs, use.daily);
    this.#weekly = new QuotaWindow(7 * dayMs, use.weekly);
    this.#cycleStartMs = use.daily.resetsAtMs - (use.daily.resetsAtMs % dayMs) - 11 * dayMs;
    this.messages = options.messages === undefined ? undefined : new MessageRate(options.messages);
    this.#prompt = use.prompt;
    this.#overageMicros = use.overageMicros;
  }

  get #inPercent(): boolean {
    return this.#options.shape === "percent";
  }

  /** Whether a turn that costs something is refused. */
  exhausted(nowMs: number): boolean {
    const { creditsHundredths, unlimited } = this.#options;
    if (this.#inPercent) return this.#overQuota(nowMs) && this.#overageMicros <= 0;
    return !unlimited && this.#prompt >= creditsHundredths;
  }

  /** The error of a turn that costs something. */
  refusal(nowMs: number): QuotaError | undefined {
    if (!this.exhausted(nowMs)) return undefined;
    return this.#inPercent && this.#weekly.at(nowMs).usedPercent >= 100 ? "weekly_quota" : "quota";
  }

  /** Ms until the used-up window resets. */
  resetsInMs(nowMs: number): number {
    const used = [this.#daily.at(nowMs), this.#weekly.at(nowMs)].filter(({ usedPercent }) => usedPercent >= 100);
    const ends = this.#inPercent ? used.map(({ resetsAtMs }) => resetsAtMs) : [this.#cycleStartMs + 30 * dayMs];
    return Math.max(0, ...ends.map((atMs) => atMs - nowMs));
  }

  /** Takes the cost of a turn. */
  spend(hundredths: number, nowMs: number): void {
    const { creditsHundredths, unlimited, drain } = this.#options;
    if (this.#inPercent) {
      const percent = (hundredths / 100) * drain;
      if (this.#overQuota(nowMs)) this.#overageMicros -= hundredths * overageMicrosPerHundredth;
      this.#daily.use(percent, nowMs);
      this.#weekly.use(percent / 4, nowMs);
      return;
    }
    this.#prompt += unlimited ? hundredths : Math.min(hundredths, creditsHundredths - this.#prompt);
  }

  use(nowMs: number): PlanUse {
    return {
      prompt: this.#prompt,
      daily: this.#daily.at(nowMs),
      weekly: this.#weekly.at(nowMs),
      overageMicros: this.#overageMicros,
    };
  }

  #overQuota(nowMs: number): boolean {
    return this.#daily.at(nowMs).usedPercent >= 100 || this.#weekly.at(nowMs).usedPercent >= 100;
  }

  /** As in `GetUserStatus`; undefined if that has no plan. */
  status(nowMs: number): PlanStatus | undefined {
    const { unknown, allows } = this.#options;
    if (unknown) return undefined;
    return create(PlanStatusSchema, {
      planInfo: {
        teamsTier: TeamsTier.PRO,
        planName: "Pro",
        hasAutocompleteFastMode: true,
        allowStickyPremiumModels: true,
        maxNumChatInputTokens: 16_384n,
        maxCustomChatInstructionCharacters: 600n,
        maxNumPinnedContextItems: 30n,
        maxLocalIndexSize: 10_000n,
        monthlyPromptCredits: this.#options.creditsHundredths,
        monthlyFlowCredits: monthlyFlow,
        allowPremiumCommandModels: true,
        canBuyMoreCredits: true,
        cascadeWebSearchEnabled: true,
        cascadeCanAutoRunCommands: true,
        hasTabToJump: true,
        hasPaidFeatures: true,
        ...(allows === undefined ? {} : { devinInfo: { canUseCascade: allows === "cascade", canUseCli: true } }),
        billingStrategy: this.#inPercent ? BillingStrategy.QUOTA : BillingStrategy.CREDITS,
        hideDailyQuota: this.#inPercent && this.#options.hideDaily,
      },
      planStart: timestampFromMs(this.#cycleStartMs),
      planEnd: timestampFromMs(this.#cycleStartMs + 30 * dayMs),
      topUpStatus: { topUpEnabled: false },
      gracePeriodStatus: GracePeriodStatus.NONE,
      ...(this.#inPercent ? this.#percent(nowMs) : this.#credits()),
    });
  }

  #credits() {
    const { creditsHundredths, unlimited } = this.#options;
    return {
      availablePromptCredits: unlimited ? -1 : creditsHundredths,
      availableFlowCredits: unlimited ? -1 : monthlyFlow,
      usedPromptCredits: this.#prompt,
    };
  }

  #percent(nowMs: number) {
    const daily = this.#daily.at(nowMs);
    const weekly = this.#weekly.at(nowMs);
    return {
      dailyQuotaRemainingPercent: Math.round(100 - daily.usedPercent),
      weeklyQuotaRemainingPercent: Math.round(100 - weekly.usedPercent),
      dailyQuotaResetAtUnix: BigInt(Math.round(daily.resetsAtMs / 1000)),
      weeklyQuotaResetAtUnix: BigInt(Math.round(weekly.resetsAtMs / 1000)),
      overageBalanceMicros: BigInt(this.#overageMicros),
    };
  }
}

/** The price of a hundredth of a credit beyond the quota: 4 cents a credit. */
const overageMicrosPerHundredth = 400;

/** The plan as the editor caches it in its state database. Source: docs/dev/wire/processes.md, "Keys of the state database". */
export function cachedPlanInfo(plan: PlanStatus) {
  const info = plan.planInfo;
  const inPercent = info?.billingStrategy === BillingStrategy.QUOTA;
  return {
    planName: info?.planName ?? "Free",
    startTimestamp: Number(plan.planStart?.seconds ?? 0n) * 1000,
    endTimestamp: Number(plan.planEnd?.seconds ?? 0n) * 1000,
    usage: {
      messages: plan.availablePromptCredits,
      usedMessages: plan.usedPromptCredits,
      remainingMessages: plan.availablePromptCredits < 0 ? -1 : plan.availablePromptCredits - plan.usedPromptCredits,
      flowActions: plan.availableFlowCredits,
      usedFlowActions: plan.usedFlowCredits,
      remainingFlowActions: plan.availableFlowCredits < 0 ? -1 : plan.availableFlowCredits - plan.usedFlowCredits,
      flexCredits: plan.availableFlexCredits,
    },
    ...(inPercent
      ? {
          quotaUsage: {
            dailyRemainingPercent: plan.dailyQuotaRemainingPercent,
            weeklyRemainingPercent: plan.weeklyQuotaRemainingPercent,
            dailyResetAtUnix: Number(plan.dailyQuotaResetAtUnix),
            weeklyResetAtUnix: Number(plan.weeklyQuotaResetAtUnix),
          },
        }
      : {}),
  };
}
