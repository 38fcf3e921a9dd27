import { z } from "zod";
import { challengeHeader, proofHeader } from "../../base/node/gateway-proof.ts";
import { encodeBlocked } from "../http/refused.ts";
import { jsonResponse } from "../http/reply.ts";
import { defineRoute } from "./route.ts";

const hello = z.object({ message: z.literal("hello") });
const health = z.looseObject({ status: z.literal("ok"), name: z.literal("millrace") });

/** The routes that report on the gateway: whether it is up, its health and its metrics. */
export const plainRoutes = [
  defineRoute("status", "GET /metrics", {
    summary: "Counters and times for Prometheus. Only for the owner.",
    guard: "owner",
    answers: "text",
    async handle(parts, c) {
      const limits = await parts.meter.limits({ wait: false }, c.signal);
      const { text, contentType } = await parts.metrics.write({
        limits,
        logBytes: parts.logBytes?.(),
        degraded: parts.storeState?.().degraded,
        damaged: (parts.storeState?.().damaged ?? undefined) !== undefined,
        load: parts.turns.load(),
        paused: (parts.pauseState?.() ?? undefined) !== undefined,
        blocked: parts.turns
          .blocked()
          .map(({ model, code, untilMs }) => ({ model: parts.models.nameOf(model), code, untilMs })),
        agents: await parts.agents?.(),
      });
      return { status: 200, headers: { "content-type": contentType, "cache-control": "no-store" }, body: text };
    },
  }),
  defineRoute("status", "GET /health", {
    summary:
      "Whether the gateway runs. For the owner, also its version, pause, IDE and counts of turns, the requests that were refused, and the models that a limit blocks.",
    guard: "open",
    dashboard: true,
    answer: health,
    async handle(parts, c) {
      const known = { status: "ok", name: "millrace" };
      const challenge = c.header(challengeHeader);
      const proof = challenge === undefined ? undefined : parts.prove(challenge);
      const headers: Record<string, string> = proof === undefined ? {} : { [proofHeader]: proof };
      if (c.caller?.owner !== true) return jsonResponse(known, 200, headers);
      const limit = parts.turnLimit?.();
      return jsonResponse(
        {
          ...known,
          version: parts.version,
          paused: parts.pauseState?.(),
          ...(limit === undefined ? {} : { turn_limit: { most: limit.most ?? null, why: limit.why } }),
          store: parts.storeState?.(),
          turns: { ...parts.turns.load(), ...parts.metrics.turns },
          refused: parts.refused.encode(),
          blocked: encodeBlocked(parts.turns.blocked(), (uid) => parts.models.nameOf(uid)),
          details: await parts.healthDetails?.(),
        },
        200,
        headers,
      );
    },
  }),
  defineRoute("status", "GET /api/hello", {
    summary: "Answers 200, for clients that test the connection.",
    guard: "open",
    answer: hello,
    handle: () => jsonResponse({ message: "hello" }),
  }),
];
