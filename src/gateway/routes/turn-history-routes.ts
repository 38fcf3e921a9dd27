import { MillraceError } from "../../base/errors.ts";
import { turnOrders } from "../../usage/history/turn-page-query.ts";
import { parseSince } from "../../usage/since.ts";
import { encodeTurnPage, turnPageSchema } from "../../usage/turn-page-envelope.ts";
import type { GatewayContext } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import { defineRoute } from "./route.ts";
import { metered } from "./usage-routes.ts";

const outcomes = ["finished", "failed", "cancelled"] as const;
const defaultSince = "30d";
const [mostListed, mostSkipped, longestSearch] = [1000, 10_000_000, 200];

/** Turns that ended, from the usage history: it knows them long after the log has forgotten their events. */
export const turnHistoryRoutes = [
  defineRoute("GET /dashboard/api/usage/turns", {
    summary: "Ended turns, in pages, with the totals of all that match.",
    guard: "owner",
    dashboard: true,
    query: {
      since: "`30d`, a day or an instant",
      until: "the same",
      id: "one turn",
      status: outcomes.map((outcome) => `\`${outcome}\``).join(", "),
      model: "a model's UID",
      client: "a client's name",
      api: "the API that it came through",
      key: "the name of the key that asked",
      search: "part of an id, model, client, project or error code",
      sort: turnOrders.map((order) => `\`${order}\``).join(", "),
      order: "`asc` or `desc`",
      offset: "how many to skip",
      limit: `0 to ${mostListed}`,
      totals: "`0`: none, which is faster",
    },
    answer: turnPageSchema,
    handle: metered((meter, { clock, models }, c) => {
      const now = clock.now();
      const text = (name: string) => c.query(name) || undefined;
      const until = text("until");
      const page = meter.turnPage({
        turnId: text("id"),
        outcome: oneOf(c, "status", outcomes),
        model: text("model"),
        client: text("client"),
        dialect: text("api"),
        key: text("key"),
        search: text("search")?.slice(0, longestSearch),
        sinceMs: parseSince(text("since") ?? defaultSince, now, "since"),
        untilMs: until === undefined ? now + 1 : parseSince(until, now, "until"),
        order: oneOf(c, "sort", turnOrders) ?? "time",
        descending: oneOf(c, "order", ["asc", "desc"]) !== "asc",
        offset: wholeNumber(c, "offset", 0, mostSkipped),
        limit: wholeNumber(c, "limit", 50, mostListed),
        sums: c.query("totals") !== "0",
      });
      return jsonResponse(encodeTurnPage(page, (uid) => models.nameOf(uid)));
    }),
  }),
];

/** @throws MillraceError `invalid_request` for a value that is none of them. */
function oneOf<T extends string>(c: GatewayContext, param: string, values: readonly T[]): T | undefined {
  const given = c.query(param) || undefined;
  const found = values.find((value) => value === given);
  if (given === undefined || found !== undefined) return found;
  throw new MillraceError("invalid_request", `\`${param}\` cannot be ${JSON.stringify(given.slice(0, 60))}.`, {
    param,
    hint: `Give one of ${values.join(", ")}.`,
  });
}

function wholeNumber(c: GatewayContext, param: string, fallback: number, most: number): number {
  const given = c.query(param);
  if (given === undefined || !/^\d{1,9}$/.test(given)) return fallback;
  return Math.min(most, Number(given));
}
