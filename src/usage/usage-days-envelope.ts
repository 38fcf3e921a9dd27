import { z } from "zod";
import { iso, namedSpendSchema, withName } from "./envelope.ts";
import type { UsageDays } from "./usage-report.ts";

/** The JSON of `GET /dashboard/api/usage/days`: every day of the time, also those without a turn. */
export const usageDaysSchema = z.object({
  object: z.literal("usage.days"),
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  time_zone: z.string(),
  data: z.array(z.object({ day: z.string(), models: z.array(namedSpendSchema) })),
});

export type UsageDaysEnvelope = z.infer<typeof usageDaysSchema>;

export function encodeUsageDays({ query, days, names }: UsageDays, nameOf: (uid: string) => string): UsageDaysEnvelope {
  return {
    object: "usage.days",
    since: iso(query.sinceMs),
    until: iso(query.untilMs),
    time_zone: query.timeZone,
    data: days.map(({ day, models }) => ({
      day,
      models: models.map((spend) => withName(spend, (uid) => names.get(uid) ?? nameOf(uid))),
    })),
  };
}
