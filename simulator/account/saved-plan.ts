import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { initialUse, Plan, type PlanUse } from "./plan.ts";
import type { PlanOptions, SavedPlanForm } from "./plan-options.ts";

const dayMs = 86_400_000;

/** One start of the app. */
interface AppStart {
  readonly stateDatabase: string;
  readonly logs: string;
  readonly form: SavedPlanForm;
  readonly plan: PlanOptions;
  readonly use: PlanUse | undefined;
  readonly signedIn: boolean;
  readonly nowMs: number;
}

/**
 * Writes the files that Devin Desktop leaves at its start: a folder of logs that is named by the time, and a row with the plan for
 * each account that it has seen. The rows do not follow the plan while the app runs. An `old` start was three days ago. Source:
 * docs/dev/wire/devin-desktop.md, "The saved plan".
 */
export async function writeAppStart(start: AppStart): Promise<void> {
  const atMs = start.form === "old" ? start.nowMs - 3 * dayMs : start.nowMs;
  await mkdir(join(start.logs, stamp(atMs)), { recursive: true });
  await mkdir(dirname(start.stateDatabase), { recursive: true });
  if (!start.signedIn || start.form === "none" || start.plan.unknown) return;
  const use = start.use === undefined || start.form === "old" ? initialUse(start.plan, atMs) : start.use;
  const rows = [{ account: "simulator", plan: start.plan, use }];
  if (start.form === "several") {
    const plan = { ...start.plan, used: 77, usedWeekly: 33 };
    rows.push({ account: "second", plan, use: initialUse(plan, atMs) });
  }
  const database = new DatabaseSync(start.stateDatabase);
  try {
    database.exec("PRAGMA busy_timeout = 2000;");
    database.exec("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
    for (const { account, plan, use: used } of rows) {
      database
        .prepare("INSERT INTO ItemTable (key, value) VALUES (?, ?)")
        .run(savedPlanKey(account), JSON.stringify(savedPlan(plan, used, atMs)));
    }
  } finally {
    database.close();
  }
}

function savedPlanKey(account: string): string {
  const digits = createHash("sha256").update(account).digest("hex").slice(0, 32);
  return `windsurf.reactSettings.cachedPlanInfoData:user-${digits}`;
}

function savedPlan(options: PlanOptions, use: PlanUse, nowMs: number) {
  if (options.freeMessages !== undefined) {
    const { remaining, total } = options.freeMessages;
    return { planName: "Free", isDevinFree: true, remainingMessages: remaining, totalMessages: total };
  }
  const status = new Plan(options, use).status(nowMs);
  return {
    planName: status?.planInfo?.planName ?? "Pro",
    billingStrategy: "quota",
    dailyRemainingPercent: status?.dailyQuotaRemainingPercent ?? 0,
    weeklyRemainingPercent: status?.weeklyQuotaRemainingPercent ?? 0,
    dailyResetAtUnix: Number(status?.dailyQuotaResetAtUnix ?? 0n),
    weeklyResetAtUnix: Number(status?.weeklyQuotaResetAtUnix ?? 0n),
    hideDailyQuota: options.hideDaily,
    hideWeeklyQuota: false,
    overageBalanceMicros: Number(status?.overageBalanceMicros ?? 0n),
    remainingMessages: -1,
  };
}

/** `20261122T090500`, in local time: how the app names the folder of a start. */
function stamp(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
}
