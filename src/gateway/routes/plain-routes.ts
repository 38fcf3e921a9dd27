import { z } from "zod";
import { challengeHeader, proofHeader } from "../../base/node/gateway-proof.ts";
import { encodeBlocked } from "../http/refused.ts";
import { jsonResponse } from "../http/reply.ts";
import { defineRoute } from "./route.ts";

const hello = z.object({ message: z.literal("hello") });
const health = z.looseObject({ status: z.literal("ok"), name: z.literal("millrace") });

/** The routes that report on the gateway: whether it is up, its health and its metrics. */
export const plainRoutes = [
  defineRoute("GET /metrics", {
    summary: "Counters and times for Prometheus. Only for the owner.",
    guard: "owner",
    answers: "text",
    async handle(gateway, c) {
      const limits = await gateway.meter?.limits({ wait: false }, c.signal);
      const { text, contentType } = await gateway.metrics.write({
        limits,
        logBytes: gateway.logBytes?.(),
        degraded: gateway.storeState?.().degraded,
        damaged: (gateway.storeState?.().damaged ?? undefined) !== undefined,
        load: gateway.turns.load(),
        paused: (gateway.pauseState?.() ?? undefined) !== undefined,
        blocked: gateway.turns
          .blocked()
          .map(({ model, code, untilMs }) => ({ model: gateway.models.nameOf(model), code, untilMs })),
        agents: await gateway.agents?.(),
      });
      return { status: 200, headers: { "content-type": contentType, "cache-control": "no-store" }, body: text };
    },
  }),
  defineRoute("GET /health", {
    summary:
      "Whether the gateway runs. For the owner, also its version, pause and IDE, the requests that were refused, and the models that a limit blocks.",
    guard: "open",
    dashboard: true,
    answer: health,
    async handle(gateway, c) {
      const known = { status: "ok", name: "millrace" };
      const challenge = c.header(challengeHeader);
      const proof = challenge === undefined ? undefined : gateway.prove(challenge);
      const headers: Record<string, string> = proof === undefined ? {} : { [proofHeader]: proof };
      if (c.caller?.owner !== true) return jsonResponse(known, 200, headers);
      const details = await gateway.healthDetails?.();
      const store = gateway.storeState?.();
      const limit = gateway.turnLimit?.();
      return jsonResponse(
        {
          ...known,
          version: gateway.version,
          ...(gateway.pauseState === undefined ? {} : { paused: gateway.pauseState() }),
          ...(limit === undefined ? {} : { turn_limit: { most: limit.most ?? null, why: limit.why } }),
          ...(store === undefined ? {} : { store }),
          refused: gateway.refused.encode(),
          blocked: encodeBlocked(gateway.turns.blocked(), (uid) => gateway.models.nameOf(uid)),
          ...(details === undefined ? {} : { details }),
        },
        200,
        headers,
      );
    },
  }),
  defineRoute("GET /api/hello", {
    summary: "Answers 200, for clients that test the connection.",
    guard: "open",
    answer: hello,
    handle: () => jsonResponse({ message: "hello" }),
  }),
];
