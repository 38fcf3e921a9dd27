import { z } from "zod";
import type { Model } from "../../models/model.ts";
import { answerTurn } from "../answers/answer-turn.ts";
import { ollama } from "../dialects/ollama/encode.ts";
import { answerLoad, type OllamaWire, ollamaChatBody, ollamaGenerateBody } from "../dialects/ollama/request.ts";
import { nameAModel, refuse } from "../dialects/parse-body.ts";
import type { GatewayContext, ModelParts, TurnParts } from "../http/context.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { startsTurn } from "../http/route-headers.ts";
import { listed, modelsInOrder, ollamaShow, ollamaTag, ollamaVersion } from "./models-routes.ts";
import { defineRoute } from "./route.ts";

const answered = z.looseObject({ model: z.string(), created_at: z.iso.datetime(), done: z.boolean() });
const details = z.looseObject({ family: z.string() });

/** Ollama's API, for local tools that speak it first. */
export const ollamaRoutes = [
  defineRoute("turns", "POST /api/chat", {
    summary: "Ollama: chat.",
    body: ollamaChatBody,
    answer: answered,
    answers: "ndjson",
    headers: startsTurn,
    handle: (parts, c, { json }) => answerOllama(parts, c, json, "chat"),
  }),
  defineRoute("turns", "POST /api/generate", {
    summary: "Ollama: one prompt.",
    body: ollamaGenerateBody,
    answer: answered,
    answers: "ndjson",
    headers: startsTurn,
    handle: (parts, c, { json }) => answerOllama(parts, c, json, "generate"),
  }),
  defineRoute("models", "GET /api/tags", {
    summary: "Ollama: the account's models.",
    answer: z.object({ models: z.array(z.looseObject({ name: z.string(), model: z.string(), details })) }),
    async handle(parts, c) {
      const { models } = await modelsInOrder(parts, { refresh: false }, c.signal);
      return jsonResponse({ models: listed(models).map(ollamaTag) });
    },
  }),
  defineRoute("models", "POST /api/show", {
    summary: "Ollama: one model, by any name that resolves.",
    body: z.object({ model: z.string().nullish(), name: z.string().nullish() }),
    answer: z.looseObject({ details, model_info: z.looseObject({}), capabilities: z.array(z.string()) }),
    async handle(parts, c, { json }) {
      return jsonResponse(ollamaShow(await askedModel(parts, c, json)));
    },
  }),
  defineRoute("models", "POST /api/pull", {
    summary: "Ollama: fetches a model. Those of the account are there already.",
    body: z.object({ model: z.string().nullish(), name: z.string().nullish(), stream: z.boolean().nullish() }),
    answer: z.object({ status: z.literal("success") }),
    answers: "ndjson",
    async handle(parts, c, { json }) {
      await askedModel(parts, c, json);
      return jsonResponse({ status: "success" });
    },
  }),
  defineRoute("models", "GET /api/ps", {
    summary: "Ollama: the models in this machine's memory. There is none: they run at the vendor's.",
    answer: z.object({ models: z.array(z.never()) }),
    handle: () => jsonResponse({ models: [] }),
  }),
  defineRoute("models", "GET /api/version", {
    summary: "Ollama: the version whose API this is.",
    answer: z.object({ version: z.string() }),
    handle: () => jsonResponse({ version: ollamaVersion }),
  }),
];

async function askedModel(parts: Pick<ModelParts, "models">, c: GatewayContext, json: unknown): Promise<Model> {
  const { model: asked, name } = json as { readonly model?: unknown; readonly name?: unknown }; // an object, or neither
  const wanted = asked ?? name;
  if (typeof wanted !== "string" || wanted === "") throw refuse("model", nameAModel("/api/tags"));
  return (await parts.models.resolve(wanted, undefined, c.signal)).model;
}

async function answerOllama(
  parts: TurnParts,
  c: GatewayContext,
  json: unknown,
  form: OllamaWire["form"],
): Promise<Reply> {
  const loaded = answerLoad(json, form, parts.clock.now());
  if (loaded !== undefined) {
    await askedModel(parts, c, json);
    return jsonResponse(loaded, 200, { "x-millrace-answered-by": "gateway" });
  }
  return answerTurn(parts, c, ollama, json);
}
