import type { Hono } from "hono";
import { isMillraceError } from "../../base/errors.ts";
import type { TurnRequest } from "../../log/request.ts";
import { anthropicMessages } from "../dialects/anthropic-messages/dialect.ts";
import { answerQuotaProbe } from "../dialects/anthropic-messages/quota-probe.ts";
import { readJson } from "../http/body.ts";
import { type Gateway, type GatewayEnv, jsonResponse } from "../http/context.ts";
import { sizeOfPrompt } from "./count-tokens.ts";
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
    const { request } = anthropicMessages.parse(body.json);
    const { tokens } = sizeOfPrompt(request, await windowOf(gateway, request, c.req.raw.signal));
    return jsonResponse({ input_tokens: tokens });
  });
}

/** The window of the model that a request names; a count is wanted also where no IDE runs, or the name is wrong. */
async function windowOf(
  { models, contextTokens }: Gateway,
  { model, reasoningEffort }: TurnRequest,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return contextTokens?.((await models.resolve(model, reasoningEffort, signal)).model.uid);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return undefined;
  }
}
