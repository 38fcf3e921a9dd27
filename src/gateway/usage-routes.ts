import type { Hono } from "hono";
import { MillraceError } from "../base/errors.ts";
import { encodeLimits, encodeUsage } from "../usage/envelope.ts";
import { spendDimensions } from "../usage/history/history.ts";
import { parseSince } from "../usage/since.ts";
import { type Gateway, type GatewayContext, type GatewayEnv, jsonResponse, notServed } from "./context.ts";

const defaultSince = "7d";

/** `GET /v1/limits`: what is left of the plans. `GET /v1/usage`: what turns used of them. */
export function mountUsage(app: Hono<GatewayEnv>, gateway: Gateway): void {
  const { meter, clock } = gateway;
  app.get("/v1/limits", async (c) => {
    if (meter === undefined) return notMetered(c);
    const wait = c.req.query("wait") !== "0";
    return jsonResponse(encodeLimits(await meter.limits({ wait }, c.req.raw.signal)));
  });
  app.get("/v1/usage", (c) => {
    if (meter === undefined) return notMetered(c);
    const now = clock.now();
    const until = c.req.query("until");
    const query = {
      sinceMs: parseSince(c.req.query("since") ?? defaultSince, now, "since"),
      untilMs: until === undefined ? now + 1 : parseSince(until, now, "until"),
      by: dimensionOf(c),
      timeZone: c.req.query("time_zone") ?? "UTC",
    };
    return jsonResponse(encodeUsage(meter.usage(query)));
  });
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
