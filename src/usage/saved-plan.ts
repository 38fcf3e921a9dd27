import { fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { z } from "zod";
import { MillraceError } from "../base/errors.ts";
import { productToday } from "../base/ide-name.ts";
import { type UserStatus, UserStatusSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { type LimitsSnapshot, type LimitWindow, quotaWindow, type ReadingSource, tidy, usdBalance } from "./limits.ts";
import { durationInWords } from "./pace-words.ts";
import { windsurfSnapshot } from "./windsurf-plan.ts";

/** The rows that an app saved of the plan, as they are. */
export interface SavedPlanRows {
  /** When the app wrote them: its last start, epoch ms. Undefined where nothing says it. */
  readonly lastStartMs: number | undefined;
  /** JSON of today's form, one for each account that was ever signed in. */
  readonly accountRows: readonly string[];
  /** JSON of the form of older builds. */
  readonly oldRow: string | undefined;
  /** Base64 of the signed-in account's `UserStatus`. */
  readonly userStatus: string | undefined;
}

/** A saved plan is dropped after this long: a day changes the daily limit and much of the weekly one. */
const oldestSavedPlanMs = 24 * 3_600_000;
const clockErrorMs = 5 * 60_000;

/** Lenient: a member of another type than expected counts as not told. */
const number = z.number().optional().catch(undefined);
const unixSeconds = z.coerce.number().positive().optional().catch(undefined);
const percents = {
  dailyRemainingPercent: number,
  weeklyRemainingPercent: number,
  dailyResetAtUnix: unixSeconds,
  weeklyResetAtUnix: unixSeconds,
};
const savedPlan = z.object({
  ...percents,
  planName: z.string().optional().catch(undefined),
  isDevinFree: z.boolean().optional().catch(undefined),
  hideDailyQuota: z.boolean().optional().catch(undefined),
  hideWeeklyQuota: z.boolean().optional().catch(undefined),
  overageBalanceMicros: z.coerce.number().optional().catch(undefined),
  remainingMessages: number,
  totalMessages: number,
  quotaUsage: z.object(percents).optional().catch(undefined),
});
type SavedPlan = z.infer<typeof savedPlan>;

/**
 * The limits in what an app saved at its last start. Limits that have reset since are left out.
 *
 * @throws MillraceError `upstream_failed` when nothing in it can be believed, with the reason: too old, reset since, without a
 *   time, of several accounts. Source: docs/dev/wire/devin-desktop.md, "The saved plan".
 */
export function savedPlanSnapshot(
  rows: SavedPlanRows,
  about: Pick<ReadingSource, "ide" | "build">,
  nowMs: number,
): LimitsSnapshot {
  const { lastStartMs: readAtMs } = rows;
  if (readAtMs === undefined) throw unusable("nothing says when the app wrote it");
  if (readAtMs > nowMs + clockErrorMs) throw unusable("its time is in the future, so the clock was set");
  const ageMs = nowMs - readAtMs;
  if (ageMs > oldestSavedPlanMs) throw unusable(`the app wrote it ${durationInWords(ageMs)} ago, at its last start`);
  const source: ReadingSource = { ...about, readAtMs, source: "saved_plan" };
  const snapshot = read(rows, source);
  const windows = snapshot.windows.filter(({ resetsAtMs }) => resetsAtMs === undefined || resetsAtMs > nowMs);
  const tells = windows.some(({ state, kind }) => state !== "unknown" && kind === "consumption");
  if (!tells && windows.length < snapshot.windows.length) throw unusable("its limits have reset since");
  if (!tells) throw unusable("it tells no limit");
  return { ...snapshot, windows };
}

function read(rows: SavedPlanRows, source: ReadingSource): LimitsSnapshot {
  const [first, ...others] = rows.accountRows;
  // Of several accounts the status is that of the one that is signed in.
  const text = others.length === 0 ? (first ?? rows.oldRow) : undefined;
  const plan = text === undefined ? undefined : parsePlan(text);
  if (plan !== undefined) return snapshotOfPlan(plan, source);
  const status = rows.userStatus === undefined ? undefined : parseStatus(rows.userStatus);
  if (status?.planStatus !== undefined) return windsurfSnapshot(status, source);
  if (others.length > 0)
    throw unusable(`the app saved plans of ${others.length + 1} accounts, and nothing says which is signed in`);
  throw unusable("the app saved none that Millrace can read");
}

/** The plan in a row; undefined for a text that is none. */
export function parsePlan(text: string): SavedPlan | undefined {
  try {
    const parsed = savedPlan.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined; // the app wrote something else
  }
}

/** A `UserStatus` in base64; undefined for a text that is none. */
export function parseStatus(base64: string): UserStatus | undefined {
  try {
    return fromBinary(UserStatusSchema, base64Decode(base64));
  } catch {
    return undefined; // of another form, or cut
  }
}

function snapshotOfPlan(plan: SavedPlan, source: ReadingSource): LimitsSnapshot {
  const quota = { ...plan, ...definedOf(plan.quotaUsage) };
  const windows: LimitWindow[] = [];
  if (plan.hideDailyQuota !== true)
    windows.push(...quotaWindows("daily", quota.dailyRemainingPercent, quota.dailyResetAtUnix));
  if (plan.hideWeeklyQuota !== true)
    windows.push(...quotaWindows("weekly", quota.weeklyRemainingPercent, quota.weeklyResetAtUnix));
  windows.push(...messageWindow(plan));
  if (plan.overageBalanceMicros !== undefined && windows.length > 0)
    windows.push(usdBalance("overage", "Overage balance", plan.overageBalanceMicros / 1e6));
  const { planName, isDevinFree } = plan;
  return {
    ...source,
    shape: windows.length === 0 ? "unknown" : "quota",
    planName: planName || (isDevinFree === true ? "Free" : undefined),
    windows,
  };
}

/** Older builds keep the percentages one level deeper. */
function definedOf(quota: SavedPlan["quotaUsage"]): Partial<NonNullable<SavedPlan["quotaUsage"]>> {
  return Object.fromEntries(Object.entries(quota ?? {}).filter(([, value]) => value !== undefined));
}

/** -1 means that the plan has no such limit. A limit that resets and says no percent is used up: the app leaves out a zero. */
function quotaWindows(
  id: "daily" | "weekly",
  percent: number | undefined,
  resetAtUnix: number | undefined,
): readonly LimitWindow[] {
  const left = percent ?? (resetAtUnix === undefined ? -1 : 0);
  if (left < 0) return [];
  return [quotaWindow(id, left, resetAtUnix === undefined ? undefined : resetAtUnix * 1000)];
}

/** The free plan's pool of messages; -1 means that the plan has none. */
function messageWindow({ remainingMessages: left, totalMessages: limit }: SavedPlan): readonly LimitWindow[] {
  if (left === undefined || left < 0) return [];
  const known = limit !== undefined && limit >= left && limit > 0;
  return [
    {
      id: "messages",
      label: "Free messages",
      kind: "consumption",
      unit: "messages",
      state: "metered",
      scope: "plan",
      used: known ? limit - left : undefined,
      limit: known ? limit : undefined,
      remaining: left,
      utilization: known ? tidy((limit - left) / limit) : left === 0 ? 1 : undefined,
      resetsAtMs: undefined,
      windowSeconds: undefined,
    },
  ];
}

function unusable(why: string): MillraceError {
  return new MillraceError("upstream_failed", `The plan that the app saved is not shown: ${why}.`, {
    hint: `Start ${productToday}: its server answers, or it saves a new plan.`,
  });
}
