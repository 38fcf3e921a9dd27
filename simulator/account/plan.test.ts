import { toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { PlanStatusSchema } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";
import { cachedPlanInfo, initialUse, Plan } from "./plan.ts";
import { type PlanOptions, planOptionsSchema } from "./plan-options.ts";

const now = Date.UTC(2026, 0, 31, 12);
const hour = 3_600_000;

function planOf(options: Partial<PlanOptions>): Plan {
  const parsed = planOptionsSchema.parse(options);
  return new Plan(parsed, initialUse(parsed, now));
}

function told(plan: Plan, atMs = now): Record<string, unknown> {
  const status = plan.status(atMs);
  if (status === undefined) throw new Error("nothing is told");
  return toJson(PlanStatusSchema, status) as Record<string, unknown>;
}

describe("a plan in credits", () => {
  it("is reported in hundredths, without the zeros", () => {
    const fresh = told(planOf({}));
    expect(fresh).toMatchObject({
      availablePromptCredits: 50_000,
      planInfo: { billingStrategy: "BILLING_STRATEGY_CREDITS" },
    });
    expect(fresh).not.toHaveProperty("usedPromptCredits");
    expect(told(planOf({ used: 25 }))).toMatchObject({ usedPromptCredits: 12_500 });
  });

  it("drains until it is exhausted", () => {
    const plan = planOf({ used: 99 });
    plan.spend(400, now);
    expect(told(plan)).toMatchObject({ usedPromptCredits: 49_900 });
    expect(plan.exhausted(now)).toBe(false);
    plan.spend(600, now);
    expect(told(plan)).toMatchObject({ usedPromptCredits: 50_000 });
    expect(plan.exhausted(now)).toBe(true);
  });

  it("without a limit is reported as negative and never exhausted", () => {
    const plan = planOf({ unlimited: true });
    plan.spend(1_000_000, now);
    expect(told(plan)).toMatchObject({ availablePromptCredits: -1, usedPromptCredits: 1_000_000 });
    expect(plan.exhausted(now)).toBe(false);
  });
});

describe("a plan in percent", () => {
  it("reports what remains of a day and a week, and when they reset", () => {
    const plan = planOf({
      shape: "percent",
      used: 40,
      usedWeekly: 10,
      overageMicros: -1_200_958,
      hideDaily: true,
    });
    expect(told(plan)).toMatchObject({
      dailyQuotaRemainingPercent: 60,
      weeklyQuotaRemainingPercent: 90,
      dailyQuotaResetAtUnix: String((now + 5 * hour) / 1000),
      overageBalanceMicros: "-1200958",
      planInfo: { billingStrategy: "BILLING_STRATEGY_QUOTA", hideDailyQuota: true },
    });
    expect(told(plan)).not.toHaveProperty("availablePromptCredits");
    const status = plan.status(now);
    expect(status && cachedPlanInfo(status)).toMatchObject({
      quotaUsage: { dailyRemainingPercent: 60, weeklyRemainingPercent: 90 },
    });
  });

  it("leaves the zero out when it is exhausted, and starts anew at the reset", () => {
    const plan = planOf({ shape: "percent", used: 98, drain: 1 });
    plan.spend(600, now);
    expect(plan.exhausted(now)).toBe(true);
    expect(told(plan)).not.toHaveProperty("dailyQuotaRemainingPercent");
    expect(told(plan)).toHaveProperty("dailyQuotaResetAtUnix");
    const later = now + 5 * hour + 3 * 24 * hour;
    expect(told(plan, later)).toMatchObject({
      dailyQuotaRemainingPercent: 100,
      dailyQuotaResetAtUnix: String((now + 5 * hour + 4 * 24 * hour) / 1000),
    });
    expect(plan.exhausted(later)).toBe(false);
  });

  it("continues into a paid balance", () => {
    const plan = planOf({ shape: "percent", used: 100, overageMicros: 500_000 });
    expect(plan.exhausted(now)).toBe(false);
    plan.spend(600, now);
    expect(told(plan)).toMatchObject({ overageBalanceMicros: "260000" });
  });

  it("survives a process: what is used is handed on", () => {
    const options = planOptionsSchema.parse({ shape: "percent", used: 10 });
    const first = new Plan(options, initialUse(options, now));
    first.spend(500, now);
    const second = new Plan(options, JSON.parse(JSON.stringify(first.use(now))));
    expect(told(second)).toEqual(told(first));
  });
});

describe("a plan that is not reported", () => {
  it("is absent as a whole", () => {
    expect(planOf({ unknown: true }).status(now)).toBeUndefined();
  });
});
