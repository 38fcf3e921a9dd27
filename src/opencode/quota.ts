import { z } from "zod";

/** As much of the gateway's answer as is shown; a unit that a newer gateway has is shown as it is. A test compares it with the gateway's schema. */
const limitsSchema = z.object({
  data: z.array(
    z.object({
      ide: z.string(),
      plan_name: z.string().nullable(),
      fetched_at: z.string(),
      stale: z.boolean(),
      windows: z.array(
        z.object({
          id: z.string(),
          label: z.string(),
          unit: z.string(),
          state: z.string(),
          used: z.number().nullable(),
          limit: z.number().nullable(),
          remaining: z.number().nullable(),
          utilization: z.number().nullable(),
          resets_at: z.string().nullable(),
        }),
      ),
    }),
  ),
  errors: z.array(z.object({ message: z.string(), hint: z.string() })),
});

export type QuotaAnswer = z.output<typeof limitsSchema>;
type Window = QuotaAnswer["data"][number]["windows"][number];

/** Reads the gateway's `GET /v1/limits`. Throws `ZodError` when it is none. */
export function parseQuota(answer: unknown): QuotaAnswer {
  return limitsSchema.parse(answer);
}

/** From which share on a window counts as running low. */
const lowShare = 0.9;

/** Windows that run low or are used up, each with a name that stays the same until it resets. */
export function lowWindows(quota: QuotaAnswer): readonly { readonly key: string; readonly text: string }[] {
  return quota.data.flatMap(({ ide, windows }) =>
    windows
      .filter(({ state, utilization }) => state === "metered" && (utilization ?? 0) >= lowShare)
      .map((window) => {
        const level = (window.utilization ?? 0) >= 1 ? "used up" : "running low";
        return {
          key: JSON.stringify([ide, window.id, level, window.resets_at]),
          text: `${window.label} is ${level}: ${amount(window)}`,
        };
      }),
  );
}

/** The plan in words, for the model and the user. */
export function quotaText(quota: QuotaAnswer): string {
  const plans = quota.data.map(({ ide, plan_name: plan, windows, fetched_at: fetchedAt, stale }) => {
    const head = `${ide}${plan === null ? "" : `, plan ${plan}`} (read at ${fetchedAt}${stale ? ", may be out of date" : ""})`;
    return [head, ...windows.map((window) => `- ${window.label}: ${amount(window)}`)].join("\n");
  });
  const errors = quota.errors.map(({ message, hint }) => `${message} ${hint}`);
  return [...plans, ...errors].join("\n\n") || "No IDE reports its limits.";
}

function amount({ state, unit, used, limit, remaining, resets_at: resetsAt }: Window): string {
  if (state !== "metered") return state === "unlimited" ? "unlimited" : "unknown";
  const write = (value: number | null) =>
    value === null ? "?" : unit === "percent" ? `${value} %` : `${value} ${unit}`;
  const reset = resetsAt === null ? "" : `, resets at ${resetsAt}`;
  return `${write(used)} of ${write(limit)} used, ${write(remaining)} left${reset}`;
}
