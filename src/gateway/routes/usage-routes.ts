import type { Hono } from "hono";
import { MillraceError } from "../../base/errors.ts";
import { encodeLimits, encodeToolCalls, encodeUsage } from "../../usage/envelope.ts";
import { spendDimensions } from "../../usage/history/history.ts";
import { encodeLimitsHistory } from "../../usage/limits-history.ts";
import type { Meter } from "../../usage/meter.ts";
import { parseSince } from "../../usage/since.ts";
import {
  callerOf,
  type Gateway,
  type GatewayContext,
  type GatewayEnv,
  jsonResponse,
  notServed,
  respondError,
} from "../http/context.ts";
import { ownersOnly } from "./dashboard-routes.ts";

const ides = ["windsurf", "windsurf-next", "antigravity"] as const;
const defaultSince = "7d";
const defaultToolsSince = "30d";

/** What is left of the plans (`/v1/limits`, of one IDE, over time), and what turns used of them (`/v1/usage`) and how models called tools (`/v1/usage/tools`), both the owner only. */
export function mountUsage(app: Hono<GatewayEnv>, gateway: Gateway): void {
  const { meter, clock, models } = gateway;
  const nameOf = (uid: string) => models.nameOf(uid);
  app.get("/v1/limits", async (c) => (meter === undefined ? notMetered(c) : jsonResponse(await limitsOf(meter, c))));
  app.get("/v1/limits/history", (c) => {
    if (meter === undefined) return notMetered(c);
    const sinceMs = parseSince(c.req.query("since") ?? defaultSince, clock.now(), "since");
    return jsonResponse(encodeLimitsHistory(meter.readings(sinceMs, clock.now() + 1), sinceMs));
  });
  app.get("/v1/limits/:ide", async (c) => {
    if (meter === undefined) return notMetered(c);
    const ide = ides.find((known) => known === c.req.param("ide"));
    if (ide === undefined) return notServed(c, 404, "There is no such IDE.", `There are: ${ides.join(", ")}.`);
    const { now, data, errors } = await limitsOf(meter, c);
    const [of] = data.filter((limits) => limits.ide === ide);
    const own = errors.filter((error) => error.ide === ide || error.ide === null);
    if (of !== undefined) return jsonResponse({ ...of, now, errors: own });
    const message = own[0]?.message ?? "This IDE does not run, or has not answered yet.";
    return respondError(c, new MillraceError("ide_not_running", message));
  });
  app.get("/v1/usage", (c) => {
    if (meter === undefined) return notMetered(c);
    if (!callerOf(c).owner) return ownersOnly(c);
    const now = clock.now();
    const until = c.req.query("until");
    const query = {
      sinceMs: parseSince(c.req.query("since") ?? defaultSince, now, "since"),
      untilMs: until === undefined ? now + 1 : parseSince(until, now, "until"),
      by: dimensionOf(c),
      timeZone: c.req.query("time_zone") ?? "UTC",
    };
    return jsonResponse(encodeUsage(meter.usage(query), nameOf));
  });
  app.get("/v1/usage/tools", (c) => {
    if (meter === undefined) return notMetered(c);
    if (!callerOf(c).owner) return ownersOnly(c);
    const sinceMs = parseSince(c.req.query("since") ?? defaultToolsSince, clock.now(), "since");
    const untilMs = clock.now() + 1;
    return jsonResponse(encodeToolCalls(meter.toolCalls(sinceMs, untilMs), sinceMs, untilMs, nameOf));
  });
}

/** `?wait=0` answers at once with what is known; otherwise a stale reading is renewed first. */
async function limitsOf(meter: Pick<Meter, "limits">, c: GatewayContext) {
  return encodeLimits(await meter.limits({ wait: c.req.query("wait") !== "0" }, c.req.raw.signal));
}

function dimensionOf(c: GatewayContext): (typeof spendDimensions)[number] {
  const given = c.req.query("by") ?? "model";
  const found = spendDimensions.find((dimension) => dimension === given);
  if (found !== undefined) return found;
  throw new MillraceError("invalid_request", `Usage cannot be summed by ${JSON.stringify(given.slice(0, 60))}.`, {
    param: "by",
    hint: `Give one of ${spendDimensions.join(", ")}.`,
  });
}

function notMetered(c: GatewayContext): Response {
  return notServed(c, 501, "This gateway runs without a meter.", "Start it with `millrace serve`.");
}
