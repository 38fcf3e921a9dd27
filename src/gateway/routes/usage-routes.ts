import { encodeLimits, encodeUsage, limitsSchema, usageSchema } from "../../usage/envelope.ts";
import { spendDimensions } from "../../usage/history/history.ts";
import { keptDays } from "../../usage/history/retention.ts";
import { limitsHistorySchema } from "../../usage/limits-history.ts";
import { parseSince, parseTime } from "../../usage/since.ts";
import { encodeUsageDays, usageDaysSchema } from "../../usage/usage-days-envelope.ts";
import type { GatewayContext } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import { defineOwnerRoute, oneOf } from "./route.ts";

const defaultSince = "7d";
const defaultDaysSince = "30d";
const longestDaysMs = keptDays * 86_400_000;

const wait = { wait: "`0`: what is known, at once" };

/** The routes of the plans' limits, and of the use that turns made of them. */
export const usageRoutes = [
  defineOwnerRoute("lists", "GET /v1/limits", {
    summary: "What is left of the plans. Only for the owner.",
    query: wait,
    answer: limitsSchema,
    async handle({ meter }, c) {
      // `?wait=0` answers at once with the last reading; otherwise a stale reading is renewed first
      const limits = await meter.limits({ wait: c.query("wait") !== "0" }, c.signal);
      return jsonResponse(encodeLimits(limits));
    },
  }),
  defineOwnerRoute("lists", "GET /dashboard/api/limits/history", {
    summary: "How much of each limit was used, over time. Only for the owner.",
    query: { since: "`7d`, a day or an instant" },
    answer: limitsHistorySchema,
    async handle({ meter, clock }, c) {
      const sinceMs = parseSince(c.query("since") ?? defaultSince, clock.now(), "since");
      return jsonResponse(await meter.ask("limitsHistory", sinceMs, clock.now() + 1));
    },
  }),
  defineOwnerRoute("lists", "GET /v1/usage", {
    summary: "What turns used.",
    query: { since: "`7d`, a day or an instant", until: "the same", by: "what to sum by", time_zone: "for days" },
    answer: usageSchema,
    async handle({ meter, clock, models }, c) {
      const now = clock.now();
      const query = {
        sinceMs: parseSince(c.query("since") ?? defaultSince, now, "since"),
        untilMs: untilOf(c, now),
        by: oneOf(c, "by", spendDimensions) ?? "model",
        timeZone: c.query("time_zone") ?? "UTC",
      };
      const report = { ...(await meter.ask("usage", query)), elsewhere: await meter.elsewhere(query) };
      return jsonResponse(encodeUsage(report, (uid) => models.nameOf(uid)));
    },
  }),
  defineOwnerRoute("lists", "GET /dashboard/api/usage/days", {
    summary: "What each model used on each day.",
    query: { since: "`30d`, a day or an instant; 400 days at most", until: "the same", time_zone: "whose days" },
    answer: usageDaysSchema,
    async handle({ meter, clock, models }, c) {
      const now = clock.now();
      const sinceMs = parseSince(c.query("since") ?? defaultDaysSince, now, "since");
      const query = {
        sinceMs: Math.max(sinceMs, now - longestDaysMs),
        untilMs: untilOf(c, now),
        timeZone: c.query("time_zone") ?? "UTC",
      };
      return jsonResponse(encodeUsageDays(await meter.ask("usageDays", query), (uid) => models.nameOf(uid)));
    },
  }),
];

function untilOf(c: GatewayContext, now: number): number {
  const until = c.query("until");
  return until === undefined ? now + 1 : parseTime(until, now, "until");
}
