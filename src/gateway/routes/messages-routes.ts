import { z } from "zod";
import { isMillraceError } from "../../base/errors.ts";
import type { TurnRequest } from "../../log/request.ts";
import { anthropicMessages } from "../dialects/anthropic-messages/dialect.ts";
import { answerQuotaProbe } from "../dialects/anthropic-messages/quota-probe.ts";
import { messagesBody } from "../dialects/anthropic-messages/request.ts";
import { type Gateway, jsonResponse } from "../http/context.ts";
import { messageSchema } from "./answer-schemas.ts";
import { sizeOfPrompt } from "./count-tokens.ts";
import { defineRoute } from "./route.ts";
import { startsTurn } from "./route-headers.ts";
import { answerTurn } from "./turn-route.ts";

/** Anthropic Messages. */
export const messagesRoutes = [
  defineRoute("POST /v1/messages", {
    summary: "Anthropic Messages.",
    body: messagesBody,
    answer: messageSchema,
    answers: "event-stream",
    headers: startsTurn,
    handle(gateway, c, { json }) {
      const probed = answerQuotaProbe(json, c.var.requestId);
      if (probed !== undefined) return jsonResponse(probed, 200, { "x-millrace-answered-by": "gateway" });
      return answerTurn(gateway, c, anthropicMessages, json);
    },
  }),
  defineRoute("POST /v1/messages/count_tokens", {
    summary: "Estimates the tokens of a Messages request.",
    body: messagesBody,
    answer: z.object({ input_tokens: z.int() }),
    async handle(gateway, c, { json }) {
      const { request } = anthropicMessages.parse(json);
      const { tokens } = sizeOfPrompt(request, await windowOf(gateway, request, c.req.raw.signal));
      return jsonResponse({ input_tokens: tokens });
    },
  }),
];

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
