import { z } from "zod";
import { isObject, objectOf } from "../../base/json.ts";
import type { Model } from "../../models/model.ts";
import { answerTurn } from "../answers/answer-turn.ts";
import { countTokens } from "../answers/count-tokens.ts";
import { gemini, geminiArray } from "../dialects/gemini/encode.ts";
import { camelCased } from "../dialects/gemini/members.ts";
import { geminiBody } from "../dialects/gemini/request.ts";
import { jsonResponse } from "../http/reply.ts";
import { startsTurn } from "../http/route-headers.ts";
import { listed, modelsInOrder } from "./models-routes.ts";
import { defineRoute } from "./route.ts";

const geminiModelSchema = z.looseObject({ name: z.string(), displayName: z.string() });
const geminiAnswerSchema = z.looseObject({
  candidates: z.array(z.looseObject({ content: z.looseObject({ parts: z.array(z.looseObject({})) }) })),
  usageMetadata: z.looseObject({ totalTokenCount: z.int() }),
  modelVersion: z.string(),
  responseId: z.string(),
});

/** A model as Google's API lists it. */
function geminiModel({ name, label, contextTokens, maxOutputTokens }: Model) {
  return {
    name: `models/${name}`,
    version: "001",
    displayName: label,
    ...(contextTokens === undefined ? {} : { inputTokenLimit: contextTokens }),
    ...(maxOutputTokens === undefined ? {} : { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
    thinking: true,
  };
}

/** Google's Gemini API. Ids may hold `/` and `:`, escaped or not. */
export const geminiRoutes = [
  defineRoute("models", "GET /v1beta/models", {
    summary: "Gemini: the account's models.",
    answer: z.object({ models: z.array(geminiModelSchema) }),
    async handle(parts, c) {
      const { models } = await modelsInOrder(parts, { refresh: false }, c.signal);
      return jsonResponse({ models: listed(models).map(geminiModel) });
    },
  }),
  defineRoute("models", "GET /v1beta/models/{id}", {
    takesSlashes: true,
    summary: "Gemini: one model, by any name that resolves.",
    answer: geminiModelSchema,
    async handle(parts, c, { params }) {
      return jsonResponse(geminiModel((await parts.models.resolve(params.id, undefined, c.signal)).model));
    },
  }),
  defineRoute("turns", "POST /v1beta/models/{id}:generateContent", {
    takesSlashes: true,
    summary: "Gemini: one answer.",
    body: geminiBody,
    answer: geminiAnswerSchema,
    headers: startsTurn,
    handle: (parts, c, { params, json }) => answerTurn(parts, c, gemini, withRoute(json, params.id, false)),
  }),
  defineRoute("turns", "POST /v1beta/models/{id}:streamGenerateContent", {
    takesSlashes: true,
    summary: "Gemini: one answer, streamed.",
    query: { alt: "`sse`: as server-sent events; else as one JSON array, line by line" },
    body: geminiBody,
    answers: "event-stream",
    headers: startsTurn,
    handle: (parts, c, { params, json }) =>
      answerTurn(parts, c, c.query("alt") === "sse" ? gemini : geminiArray, withRoute(json, params.id, true)),
  }),
  defineRoute("turns", "POST /v1beta/models/{id}:countTokens", {
    takesSlashes: true,
    summary: "Gemini: estimates the tokens of a request.",
    body: z.looseObject({ contents: z.unknown(), generateContentRequest: z.unknown() }),
    answer: z.object({ totalTokens: z.int() }),
    async handle(parts, c, { params, json }) {
      const { generateContentRequest: inside } = objectOf(camelCased(json));
      const { request } = gemini.parse(withRoute(isObject(inside) ? inside : json, params.id, false));
      return jsonResponse({ totalTokens: await countTokens(parts, request, c.signal) });
    },
  }),
];

/** The model and the way of delivery stand in the path. */
function withRoute(json: unknown, model: string, stream: boolean): unknown {
  return isObject(json) ? { ...json, model, stream } : json;
}
