import { z } from "zod";
import { MillraceError } from "../base/errors.ts";
import { poolOfModel, pools, windowOfBucket, windowOfReset } from "./antigravity-pools.ts";
import { type LimitsSnapshot, type LimitWindow, percentWindow, type ReadingSource } from "./limits.ts";

const quotaInfo = z.object({ remainingFraction: z.number().nullish(), resetTime: z.string().nullish() });

const userStatusAnswer = z.object({
  userStatus: z
    .object({
      planStatus: z.object({ planInfo: z.object({ planName: z.string().nullish() }).nullish() }).nullish(),
      userTier: z.object({ id: z.string().nullish(), name: z.string().nullish() }).nullish(),
      cascadeModelConfigData: z
        .object({
          clientModelConfigs: z
            .array(z.object({ label: z.string().nullish(), quotaInfo: quotaInfo.nullish() }))
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

const bucket = z.object({
  bucketId: z.string().nullish(),
  displayName: z.string().nullish(),
  window: z.string().nullish(),
  resetTime: z.string().nullish(),
  remainingFraction: z.number().nullish(),
  remaining: z.object({ remainingFraction: z.number().nullish() }).nullish(),
});
const groups = z.array(z.object({ displayName: z.string().nullish(), buckets: z.array(bucket).nullish() }));
const inner = z.object({ groups: groups.nullish() });
/** Seen bare, inside `response`, and inside `quotaSummary`. */
const summaryAnswer = inner.extend({ response: inner.nullish(), quotaSummary: inner.nullish() });

type UserStatusAnswer = z.infer<typeof userStatusAnswer>;
type Groups = z.infer<typeof groups>;

/**
 * The plan in Antigravity's `GetUserStatus` answer (JSON: a fraction for each model) and, where that build has the RPC, its
 * `RetrieveUserQuotaSummary` answer (pools). With both, pools are shown and models stay out. Without the summary, the
 * models of a pool share its limit, so the pool stands where its worst model stands.
 *
 * @throws MillraceError `upstream_failed` naming the field when a known one has another type.
 * Source: docs/dev/wire/account.md, "Antigravity's quota".
 */
export function antigravitySnapshot(
  answers: { readonly userStatus: unknown; readonly quotaSummary: unknown },
  source: ReadingSource,
): LimitsSnapshot {
  const status = parse(userStatusAnswer, answers.userStatus ?? {}, "GetUserStatus");
  const summary = parse(summaryAnswer, answers.quotaSummary ?? {}, "RetrieveUserQuotaSummary");
  const planName = status.userStatus?.userTier?.name || status.userStatus?.planStatus?.planInfo?.planName || undefined;
  const found = summary.response?.groups ?? summary.quotaSummary?.groups ?? summary.groups ?? [];
  const poolWindows = windowsOfGroups(found);
  if (poolWindows.length > 0) return { ...source, shape: "pools", planName, windows: poolWindows };
  const windows = windowsOfModels(status, source.readAtMs);
  return { ...source, shape: windows.length > 0 ? "fractions" : "unknown", planName, windows };
}

function windowsOfGroups(found: Groups): readonly LimitWindow[] {
  return found.flatMap((group) =>
    (group.buckets ?? []).map((entry) => {
      const about = windowOfBucket(group.displayName ?? "", {
        id: entry.bucketId ?? "",
        label: entry.displayName ?? "",
        window: entry.window ?? "",
      });
      const resetsAtMs = instant(entry.resetTime);
      // Zero is left out of the wire: beside a `remaining` block or a reset time, no fraction means nothing is left.
      const told = entry.remaining != null || resetsAtMs !== undefined;
      const fraction = entry.remaining?.remainingFraction ?? entry.remainingFraction ?? (told ? 0 : undefined);
      return percentWindow({ ...about, scope: "pool", resetsAtMs }, fraction);
    }),
  );
}

function windowsOfModels(status: UserStatusAnswer, readAtMs: number): readonly LimitWindow[] {
  const configs = status.userStatus?.cascadeModelConfigData?.clientModelConfigs ?? [];
  const models = configs.flatMap(({ label, quotaInfo: quota }) => {
    if (!label || !quota) return []; // no quota: not metered
    const resetsAtMs = instant(quota.resetTime);
    const window = windowOfReset(resetsAtMs, readAtMs);
    return [{ label, pool: poolOfModel(label), resetsAtMs, window, fraction: quota.remainingFraction ?? 0 }];
  });
  const merged = pools.flatMap((pool) => {
    const members = models.filter((model) => model.pool === pool);
    const worst = members.toSorted((a, b) => a.fraction - b.fraction || (b.resetsAtMs ?? 0) - (a.resetsAtMs ?? 0))[0];
    if (worst === undefined) return [];
    const about = { id: `${pool.id}-${worst.window.id}`, label: `${pool.label}, ${worst.window.label}` };
    const { resetsAtMs } = worst;
    return [
      percentWindow({ ...about, scope: "pool", resetsAtMs, windowSeconds: worst.window.seconds }, worst.fraction),
    ];
  });
  const single = models.map(({ label, resetsAtMs, window, fraction }) =>
    percentWindow(
      { id: `model:${slug(label)}`, label, scope: "model", resetsAtMs, windowSeconds: window.seconds },
      fraction,
    ),
  );
  return [...merged, ...single];
}

function instant(text: string | null | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

function slug(label: string): string {
  return label
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}

function parse<T>(schema: z.ZodType<T>, answer: unknown, rpc: string): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new MillraceError(
    "upstream_failed",
    `Antigravity's ${rpc} answer has an unexpected ${issue?.path.join(".")}.`,
    {
      hint: "This build of Antigravity answers in a form that Millrace does not know yet; please report its version.",
      cause: result.error,
    },
  );
}
