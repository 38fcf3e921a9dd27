import { z } from "zod";
import { answerTurn } from "../answers/answer-turn.ts";
import { countTokens } from "../answers/count-tokens.ts";
import { anthropicMessages } from "../dialects/anthropic-messages/encode.ts";
import { answerQuotaProbe, messagesBody } from "../dialects/anthropic-messages/request.ts";
import { jsonResponse } from "../http/reply.ts";
import { startsTurn } from "../http/route-headers.ts";
import { withPdfTexts } from "../pdf/pdf-parts.ts";
import { vendorAnswer } from "./answer-schemas.ts";
import { defineRoute } from "./route.ts";

/** Anthropic Messages. */
export const messagesRoutes = [
  defineRoute("turns", "POST /v1/messages", {
    summary: "Anthropic Messages.",
    body: messagesBody,
    answer: vendorAnswer,
    answers: "event-stream",
    headers: startsTurn,
    handle(parts, c, { json }) {
      const probed = answerQuotaProbe(json, c.requestId);
      if (probed !== undefined) return jsonResponse(probed, 200, { "x-millrace-answered-by": "gateway" });
      return answerTurn(parts, c, anthropicMessages, json);
    },
  }),
  defineRoute("turns", "POST /v1/messages/count_tokens", {
    summary: "Estimates the tokens of a Messages request.",
    body: messagesBody,
    answer: z.object({ input_tokens: z.int() }),
    async handle(parts, c, { json }) {
      const { body } = await withPdfTexts(json, parts.readPdf);
      const { request } = anthropicMessages.parse(body);
      return jsonResponse({ input_tokens: await countTokens(parts, request, c.signal) });
    },
  }),
];
