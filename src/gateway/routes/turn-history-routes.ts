import type { TurnId } from "../../base/ids.ts";
import { keptDays } from "../../usage/history/retention.ts";
import { type TurnPageFilter, turnOrders } from "../../usage/history/turn-page-query.ts";
import { parseSince, parseTime, quarterMs } from "../../usage/since.ts";
import {
  encodeTurnBars,
  encodeTurnPage,
  type TurnRowEnvelope,
  turnBarsSchema,
  turnPageSchema,
} from "../../usage/turn-page-envelope.ts";
import type { GatewayContext, ListParts } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import { defineOwnerRoute, oneOf } from "./route.ts";
import { orExpired } from "./turns-routes.ts";

const outcomes = ["finished", "failed", "cancelled"] as const;
const defaultSince = "30d";
const [mostBars, longestWidth] = [200, keptDays * 86_400];
const [mostListed, mostSkipped, longestSearch, mostQuestions] = [1000, 10_000_000, 200, 100];

/** Which turns are asked for. */
const filterQuery = {
  since: "`30d`, a day or an instant",
  until: "the same",
  id: "one turn",
  status: outcomes.map((outcome) => `\`${outcome}\``).join(", "),
  model: "a model's UID",
  client: "a client's name",
  api: "the API that it came through",
  key: "the name of the key that asked",
  search: "part of an id, model, client, project or error code",
} as const;

function filterOf({ clock }: ListParts, c: GatewayContext): TurnPageFilter {
  const now = clock.now();
  const text = (name: string) => c.query(name) || undefined;
  const until = text("until");
  return {
    turnId: text("id"),
    outcome: oneOf(c, "status", outcomes),
    model: text("model"),
    client: text("client"),
    dialect: text("api"),
    key: text("key"),
    search: text("search")?.slice(0, longestSearch),
    sinceMs: parseSince(text("since") ?? defaultSince, now, "since"),
    untilMs: until === undefined ? now + 1 : parseTime(until, now, "until"),
  };
}

/** Turns that ended, from the usage history: it knows them long after the log has forgotten their events. */
export const turnHistoryRoutes = [
  defineOwnerRoute("lists", "GET /dashboard/api/usage/bars", {
    summary: "Ended turns in equal parts of a time, by model. Parts without a turn are left out.",
    query: {
      ...filterQuery,
      bars: `how many parts, 1 to ${mostBars}`,
      width: "seconds of each part, in place of `bars`",
    },
    answer: turnBarsSchema,
    async handle(parts, c) {
      const filter = filterOf(parts, c);
      const bars = Math.max(1, wholeNumber(c, "bars", 48, mostBars));
      const spanMs = filter.untilMs - filter.sinceMs;
      const asked = wholeNumber(c, "width", 0, longestWidth) * 1000;
      const least = Math.max(1, asked === 0 ? Math.ceil(spanMs / bars) : asked, Math.ceil(spanMs / mostBars));
      // Sums are kept for quarters of an hour: bars that are longer end with one.
      const widthMs = least < quarterMs ? least : Math.ceil(least / quarterMs) * quarterMs;
      const nameOf = (uid: string) => parts.models.nameOf(uid);
      return jsonResponse(encodeTurnBars(await parts.meter.ask("turnBars", filter, widthMs), nameOf));
    },
  }),
  defineOwnerRoute("lists", "GET /dashboard/api/usage/turns", {
    summary:
      "Ended turns, in pages, with the totals of all that match; with their questions where the session shows texts.",
    query: {
      ...filterQuery,
      sort: turnOrders.map((order) => `\`${order}\``).join(", "),
      order: "`asc` or `desc`",
      offset: "how many to skip",
      limit: `0 to ${mostListed}`,
      totals: "`0`: none, which is faster",
    },
    answer: turnPageSchema,
    async handle(parts, c) {
      const { models } = parts;
      const page = await parts.meter.ask("turnPage", {
        ...filterOf(parts, c),
        order: oneOf(c, "sort", turnOrders) ?? "time",
        descending: oneOf(c, "order", ["asc", "desc"]) !== "asc",
        offset: wholeNumber(c, "offset", 0, mostSkipped),
        limit: wholeNumber(c, "limit", 50, mostListed),
        sums: c.query("totals") !== "0",
      });
      const encoded = encodeTurnPage(page, (uid) => models.nameOf(uid));
      if (!parts.sessions.showsTexts(c.headers) || encoded.data.length > mostQuestions) return jsonResponse(encoded);
      return jsonResponse({ ...encoded, data: await withQuestions(parts, encoded.data) });
    },
  }),
];

/** Questions are in the log, which forgets a turn long before the usage history does. */
async function withQuestions(
  { turns }: ListParts,
  rows: readonly TurnRowEnvelope[],
): Promise<readonly TurnRowEnvelope[]> {
  const named: TurnRowEnvelope[] = [];
  for (const row of rows) {
    const label = await orExpired(turns.getLabel(row.id as TurnId)); // the history has it from the log
    named.push({ ...row, question: label?.question ?? null });
  }
  return named;
}

function wholeNumber(c: GatewayContext, param: string, fallback: number, most: number): number {
  const given = c.query(param);
  if (given === undefined || !/^\d{1,9}$/.test(given)) return fallback;
  return Math.min(most, Number(given));
}
