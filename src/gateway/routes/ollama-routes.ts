import { z } from "zod";
import type { Model } from "../../models/model.ts";
import { answerTurn } from "../answers/answer-turn.ts";
import { ollama } from "../dialects/ollama/encode.ts";
import { answerLoad, type OllamaWire, ollamaChatBody, ollamaGenerateBody } from "../dialects/ollama/request.ts";
import { nameAModel, refuse } from "../dialects/parse-body.ts";
import type { Gateway, GatewayContext } from "../http/context.ts";
import { jsonResponse, type Reply } from "../http/reply.ts";
import { startsTurn } from "../http/route-headers.ts";
import { listed, modelsInOrder, ollamaShow, ollamaTag, ollamaVersion } from "./models-routes.ts";
import { defineRoute } from "./route.ts";

const answered = z.looseObject({ model: z.string(), created_at: z.iso.datetime(), done: z.boolean() });
const details = z.looseObject({ family: z.string() });

/** Ollama's API, for local tools that speak it first. */
export const ollamaRoutes = [
  defineRoute("POST /api/chat", {
    summary: "Ollama: chat.",
    body: ollamaChatBody,
    answer: answered,
    answers: "ndjson",
    headers: startsTurn,
    handle: (gateway, c, { json }) => answerOllama(gateway, c, json, "chat"),
  }),
  defineRoute("POST /api/generate", {
    summary: "Ollama: one prompt.",
    body: ollamaGenerateBody,
    answer: answered,
    answers: "ndjson",
    headers: startsTurn,
    handle: (gateway, c, { json }) => answerOllama(gateway, c, json, "generate"),
  }),
  defineRoute("GET /api/tags", {
    summary: "Ollama: the account's models.",
    answer: z.object({ models: z.array(z.looseObject({ name: z.string(), model: z.string(), details })) }),
    async handle(gateway, c) {
      const { models } = await modelsInOrder(gateway, { refresh: false }, c.signal);
      return jsonResponse({ models: listed(models).map(ollamaTag) });
    },
  }),
  defineRoute("POST /api/show", {
    summary: "Ollama: one model, by any name that resolves.",
    body: z.object({ model: z.string().nullish(), name: z.string().nullish() }),
    answer: z.looseObject({ details, model_info: z.looseObject({}), capabilities: z.array(z.string()) }),
    async handle(gateway, c, { json }) {
      return jsonResponse(ollamaShow(await askedModel(gateway, c, json)));
    },
  }),
  defineRoute("POST /api/pull", {
    summary: "Ollama: fetches a model. Those of the account are there already.",
    body: z.object({ model: z.string().nullish(), name: z.string().nullish(), stream: z.boolean().nullish() }),
    answer: z.object({ status: z.literal("success") }),
    answers: "ndjson",
    async handle(gateway, c, { json }) {
      await askedModel(gateway, c, json);
      return jsonResponse({ status: "success" });
    },
  }),
  defineRoute("GET /api/ps", {
    summary: "Ollama: the models in this machine's memory. There is none: they run at the vendor's.",
    answer: z.object({ models: z.array(z.never()) }),
    handle: () => jsonResponse({ models: [] }),
  }),
  defineRoute("GET /api/version", {
    summary: "Ollama: the version whose API this is.",
    answer: z.object({ version: z.string() }),
    handle: () => jsonResponse({ version: ollamaVersion }),
  }),
];

async function askedModel(gateway: Gateway, c: GatewayContext, json: unknown): Promise<Model> {
  const { model: asked, name } = json as { readonly model?: unknown; readonly name?: unknown }; // an object, or neither
  const wanted = asked ?? name;
  if (typeof wanted !== "string" || wanted === "") throw refuse("model", nameAModel("/api/tags"));
  return (await gateway.models.resolve(wanted, undefined, c.signal)).model;
}

function answerOllama(
  gateway: Gateway,
  c: GatewayContext,
  json: unknown,
  form: OllamaWire["form"],
): Reply | Promise<Reply> {
  const loaded = answerLoad(json, form, gateway.clock.now());
  if (loaded !== undefined) return jsonResponse(loaded, 200, { "x-millrace-answered-by": "gateway" });
  return answerTurn(gateway, c, ollama, json);
}
