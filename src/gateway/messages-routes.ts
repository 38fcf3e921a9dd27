import type { Hono } from "hono";
import { readJson } from "./body.ts";
import { type Gateway, type GatewayEnv, jsonResponse } from "./context.ts";
import { countPromptTokens } from "./count-tokens.ts";
import { anthropicMessages } from "./dialects/anthropic-messages/dialect.ts";
import { answerQuotaProbe } from "./dialects/anthropic-messages/quota-probe.ts";
import { answerTurn, bodyTooLarge } from "./turn-route.ts";

/** `POST /v1/messages` and `/v1/messages/count_tokens`. */
export function mountMessages(app: Hono<GatewayEnv>, gateway: Gateway): void {
  const { maxBodyBytes } = gateway.limits;
  app.post("/v1/messages", async (c) => {
    const body = await readJson(c.req.raw, maxBodyBytes);
    if (body.tooLarge) return bodyTooLarge(c, maxBodyBytes);
    const probed = answerQuotaProbe(body.json, c.var.requestId);
    if (probed !== undefined) return jsonResponse(probed, 200, { "x-millrace-answered-by": "gateway" });
    return answerTurn(gateway, c, anthropicMessages, anthropicMessages.parse(body.json), body.json);
  });
  app.post("/v1/messages/count_tokens", async (c) => {
    const body = await readJson(c.req.raw, maxBodyBytes);
    if (body.tooLarge) return bodyTooLarge(c, maxBodyBytes);
    return jsonResponse({ input_tokens: countPromptTokens(anthropicMessages.parse(body.json).request) });
  });
}
