import { answerTurn } from "../answers/answer-turn.ts";
import { completionsBody, openAiCompletions } from "../dialects/openai-chat/completions.ts";
import { openAiChat } from "../dialects/openai-chat/encode.ts";
import { chatBody } from "../dialects/openai-chat/request.ts";
import { jsonResponse } from "../http/reply.ts";
import { startsTurn } from "../http/route-headers.ts";
import { openApiSchema, vendorAnswer } from "./answer-schemas.ts";
import { consentRoutes, textRoutes } from "./consent-routes.ts";
import { dashboardRoutes, onlookerRoutes } from "./dashboard-routes.ts";
import { geminiRoutes } from "./gemini-routes.ts";
import { inventoryRoutes } from "./inventory-routes.ts";
import { messagesRoutes } from "./messages-routes.ts";
import { modelsRoutes } from "./models-routes.ts";
import { ollamaRoutes } from "./ollama-routes.ts";
import { openApiDocument } from "./openapi.ts";
import { plainRoutes } from "./plain-routes.ts";
import { responsesRoutes } from "./responses-routes.ts";
import { defineRoute, type Route } from "./route.ts";
import { doorsRoute, runKeyRoute } from "./run-key-route.ts";
import { turnHistoryRoutes } from "./turn-history-routes.ts";
import { turnSearchRoute } from "./turn-search.ts";
import { turnsRoutes } from "./turns-routes.ts";
import { usageRoutes } from "./usage-routes.ts";

/** Every route of the gateway. */
export const routes: readonly Route[] = [
  defineRoute("turns", "POST /v1/chat/completions", {
    summary: "OpenAI Chat Completions.",
    body: chatBody,
    answer: vendorAnswer,
    answers: "event-stream",
    headers: startsTurn,
    handle: (parts, c, { json }) => answerTurn(parts, c, openAiChat, json),
  }),
  defineRoute("turns", "POST /v1/completions", {
    summary: "OpenAI's older completions: one prompt.",
    body: completionsBody,
    answer: vendorAnswer,
    answers: "event-stream",
    headers: startsTurn,
    handle: (parts, c, { json }) => answerTurn(parts, c, openAiCompletions, json),
  }),
  ...responsesRoutes,
  ...messagesRoutes,
  ...modelsRoutes,
  ...ollamaRoutes,
  ...geminiRoutes,
  turnSearchRoute,
  ...onlookerRoutes,
  ...turnsRoutes,
  ...textRoutes,
  ...usageRoutes,
  ...turnHistoryRoutes,
  ...inventoryRoutes,
  ...consentRoutes,
  runKeyRoute,
  doorsRoute,
  ...plainRoutes,
  ...dashboardRoutes,
  defineRoute("status", "GET /openapi.json", {
    summary: "This list, as OpenAPI.",
    answer: openApiSchema,
    handle: ({ version }) => jsonResponse(documentOf(version)),
  }),
];

let built: { readonly version: string; readonly document: unknown } | undefined;

/** The document, built when it is first asked for: that takes a hundred times as long as any other answer. */
function documentOf(version: string): unknown {
  if (built?.version !== version) built = { version, document: openApiDocument(routes, version) };
  return built.document;
}
