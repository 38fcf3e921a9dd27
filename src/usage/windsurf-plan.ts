import { timestampMs } from "@bufbuild/protobuf/wkt";
import { BillingStrategy, type PlanStatus, type UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";
import {
  type LimitsSnapshot,
  type LimitWindow,
  quotaWindow,
  type ReadingSource,
  tidy,
  unmeasured,
  usdBalance,
} from "./limits.ts";

/**
 * The plan in a Windsurf `GetUserStatus` answer: credits, or daily and weekly percent.
 *
 * The wire leaves zeros out, and these integers carry no presence, so a 0 here may be "none left" or "not told". What
 * decides is the sibling that cannot be zero by nature: a percentage counts as told when its reset time is there (or it
 * is not 0 itself), credits when any number of their group is. A group with nothing in it is unknown.
 *
 * Source: docs/dev/wire/account.md, "Plan and credits".
 */
export function windsurfSnapshot(
  userStatus: UserStatus,
  source: ReadingSource,
  messages?: MessagesLeft,
): LimitsSnapshot {
  const snapshot = planSnapshot(userStatus, source);
  if (messages === undefined) return snapshot;
  return { ...snapshot, windows: [...snapshot.windows, messagesWindow(messages, source.readAtMs)] };
}

/** How many messages a model still takes. */
export interface MessagesLeft {
  /** As the IDE shows the model. */
  readonly model: string;
  readonly remaining: number;
  readonly max: number;
  readonly resetsInMs: number | undefined;
}

function messagesWindow({ model, remaining, max, resetsInMs }: MessagesLeft, readAtMs: number): LimitWindow {
  return {
    id: "model-messages",
    label: `Messages to ${model}`,
    kind: "consumption",
    unit: "messages",
    state: "metered",
    scope: "model",
    used: Math.max(0, max - remaining),
    limit: max,
    remaining,
    utilization: tidy(Math.min(1, Math.max(0, max - remaining) / max)),
    resetsAtMs: resetsInMs === undefined ? undefined : readAtMs + resetsInMs,
    windowSeconds: undefined,
  };
}

function planSnapshot(userStatus: UserStatus, source: ReadingSource): LimitsSnapshot {
  const plan = userStatus.planStatus;
  const about = { ...source, planName: plan?.planInfo?.planName || undefined };
  if (plan === undefined) return { ...about, shape: "unknown", windows: [] };
  if (countsInPercent(plan)) return { ...about, shape: "quota", windows: quotaWindows(plan) };
  const windows = creditWindows(plan);
  return { ...about, shape: windows.some((w) => w.state !== "unknown") ? "credits" : "unknown", windows };
}

function countsInPercent(plan: PlanStatus): boolean {
  const strategy = plan.planInfo?.billingStrategy;
  if (strategy === BillingStrategy.QUOTA) return true;
  if (strategy === BillingStrategy.CREDITS || strategy === BillingStrategy.ACU) return false;
  return (
    plan.dailyQuotaRemainingPercent !== 0 ||
    plan.weeklyQuotaRemainingPercent !== 0 ||
    plan.dailyQuotaResetAtUnix !== 0n ||
    plan.weeklyQuotaResetAtUnix !== 0n
  );
}

function quotaWindows(plan: PlanStatus): readonly LimitWindow[] {
  const windows: LimitWindow[] = [];
  const daily = quotaTold("daily", plan.dailyQuotaRemainingPercent, plan.dailyQuotaResetAtUnix);
  const weekly = quotaTold("weekly", plan.weeklyQuotaRemainingPercent, plan.weeklyQuotaResetAtUnix);
  // -1 means that the plan has no such limit.
  if (plan.planInfo?.hideDailyQuota !== true && plan.dailyQuotaRemainingPercent >= 0) windows.push(daily);
  if (plan.planInfo?.hideWeeklyQuota !== true && plan.weeklyQuotaRemainingPercent >= 0) windows.push(weekly);
  const told = daily.state !== "unknown" || weekly.state !== "unknown";
  if (told || plan.overageBalanceMicros !== 0n) {
    windows.push(usdBalance("overage", "Overage balance", Number(plan.overageBalanceMicros) / 1e6));
  }
  return windows;
}

function quotaTold(id: "daily" | "weekly", percent: number, resetAtUnix: bigint): LimitWindow {
  const resetsAtMs = resetAtUnix > 0n ? Number(resetAtUnix) * 1000 : undefined;
  const told = percent !== 0 || resetsAtMs !== undefined;
  return quotaWindow(id, told ? percent : undefined, resetsAtMs);
}

function creditWindows(plan: PlanStatus): readonly LimitWindow[] {
  const startMs = plan.planStart === undefined ? undefined : timestampMs(plan.planStart);
  const endMs = plan.planEnd === undefined ? undefined : timestampMs(plan.planEnd);
  const cycle = {
    resetsAtMs: endMs,
    windowSeconds:
      startMs !== undefined && endMs !== undefined && endMs > startMs ? (endMs - startMs) / 1000 : undefined,
  };
  const told = plan.availablePromptCredits !== 0 || plan.usedPromptCredits !== 0;
  const sibling = (plan.planInfo?.monthlyPromptCredits ?? 0) !== 0;
  const prompt = creditWindow("prompt-credits", "Prompt credits", cycle, {
    told: told || sibling,
    available: plan.availablePromptCredits,
    used: plan.usedPromptCredits,
  });
  const flexTold = plan.availableFlexCredits !== 0 || plan.usedFlexCredits !== 0;
  if (!flexTold) return [prompt];
  // Flex credits are bought, and stay over the end of a cycle: they have no reset.
  const flex = creditWindow(
    "flex-credits",
    "Flex credits",
    { resetsAtMs: undefined, windowSeconds: undefined },
    { told: true, available: plan.availableFlexCredits, used: plan.usedFlexCredits },
  );
  return [prompt, flex];
}

function creditWindow(
  id: string,
  label: string,
  cycle: Pick<LimitWindow, "resetsAtMs" | "windowSeconds">,
  credits: { readonly told: boolean; readonly available: number; readonly used: number },
): LimitWindow {
  const base = { id, label, kind: "consumption", unit: "credits", scope: "plan", ...cycle } as const;
  if (!credits.told) {
    return { ...base, ...unmeasured };
  }
  const used = Math.max(0, credits.used) / 100;
  if (credits.available < 0) {
    return { ...base, state: "unlimited", used, limit: undefined, remaining: undefined, utilization: undefined };
  }
  const limit = credits.available / 100;
  return {
    ...base,
    state: "metered",
    used,
    limit,
    remaining: tidy(Math.max(0, limit - used)),
    // A grant of nothing is used up: there is none to be had.
    utilization: limit === 0 ? 1 : tidy(Math.min(1, used / limit)),
  };
}
