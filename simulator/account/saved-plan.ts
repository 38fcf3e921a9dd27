import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { initialUse, Plan, type PlanUse } from "./plan.ts";
import type { PlanOptions } from "./plan-options.ts";

/** One start of the app. */
interface AppStart {
  readonly stateDatabase: string;
  readonly logs: string;
  readonly plan: PlanOptions;
  readonly use: PlanUse | undefined;
  readonly signedIn: boolean;
  readonly nowMs: number;
}

/**
 * Writes the files that Devin Desktop leaves at its start: a folder of logs that is named by the time, and a row with the plan of
 * its account. The row does not follow the plan while the app runs. Source: docs/dev/wire/devin-desktop.md, "The saved plan".
 */
export async function writeAppStart(start: AppStart): Promise<void> {
  const { plan, nowMs } = start;
  await mkdir(join(start.logs, stamp(nowMs)), { recursive: true });
  await mkdir(dirname(start.stateDatabase), { recursive: true });
  if (!start.signedIn || plan.unknown) return;
  const saved = savedPlan(plan, start.use ?? initialUse(plan, nowMs), nowMs);
  const database = new DatabaseSync(start.stateDatabase);
  try {
    database.exec("PRAGMA busy_timeout = 2000;");
    database.exec("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
    const insert = database.prepare("INSERT INTO ItemTable (key, value) VALUES (?, ?)");
    insert.run(`windsurf.reactSettings.cachedPlanInfoData:user-${digits}`, JSON.stringify(saved));
  } finally {
    database.close();
  }
}

/** The account, in the name of its row. */
const digits = createHash("sha256").update("simulator").digest("hex").slice(0, 32);

function savedPlan(options: PlanOptions, use: PlanUse, nowMs: number) {
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
