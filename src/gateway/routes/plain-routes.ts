import { z } from "zod";
import { storeRemedies, storeWeaknesses } from "../../log/weakness.ts";
import { jsonResponse } from "../http/context.ts";
import type { StoreState } from "../options.ts";
import { defineRoute } from "./route.ts";

const hello = z.object({ message: z.literal("hello") });
const health = z.looseObject({ status: z.literal("ok"), name: z.literal("millrace"), instance: z.string() });

/** The routes that report on the gateway: whether it is up, its health and its metrics. */
export const plainRoutes = [
  defineRoute("GET /metrics", {
    summary: "Counters and times for Prometheus.",
    answers: "text",
    async handle(gateway, c) {
      const limits = await gateway.meter?.limits({ wait: false }, c.req.raw.signal);
      const { text, contentType } = await gateway.metrics.write({
        limits,
        logBytes: gateway.logBytes?.(),
        degraded: gateway.storeState?.().degraded,
        damaged: (gateway.storeState?.().damaged ?? undefined) !== undefined,
        load: gateway.turns.load(),
        weaknesses: gateway.storeState?.().weaknesses,
        paused: (gateway.pauseState?.() ?? undefined) !== undefined,
        agents: await gateway.agents?.(),
      });
      return new Response(text, { headers: { "content-type": contentType, "cache-control": "no-store" } });
    },
  }),
  defineRoute("GET /health", {
    summary: "Whether the gateway runs. With the key, also its version, pause and IDE.",
    guard: "open",
    dashboard: true,
    answer: health,
    async handle(gateway, c) {
      const known = { status: "ok", name: "millrace", instance: gateway.instance };
      if (c.var.caller === undefined) return jsonResponse(known);
      const details = await gateway.healthDetails?.();
      const store = gateway.storeState?.();
      const limit = gateway.turnLimit?.();
      return jsonResponse({
        ...known,
        version: gateway.version,
        ...(gateway.pauseState === undefined ? {} : { paused: gateway.pauseState() }),
        ...(limit === undefined ? {} : { turn_limit: { most: limit.most ?? null, why: limit.why } }),
        ...(store === undefined ? {} : { store: describeStore(store) }),
        ...(details === undefined ? {} : { details }),
      });
    },
  }),
  defineRoute("GET /api/hello", {
    summary: "Answers 200, for clients that test the connection.",
    guard: "open",
    answer: hello,
    handle: () => jsonResponse({ message: "hello" }),
  }),
];

/** With each weakness in words. */
function describeStore({ weaknesses = [], ...store }: StoreState): object {
  const weak = weaknesses.map((reason) => ({ reason, why: storeWeaknesses[reason], todo: storeRemedies[reason] }));
  return { ...store, weaknesses, weak };
}
