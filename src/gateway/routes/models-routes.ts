import { MillraceError } from "../../base/errors.ts";
import { asksInAnthropic, type GatewayContext } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import { modelAnswerSchema, modelListSchema } from "./answer-schemas.ts";
import {
  anthropicModel,
  anthropicModelList,
  fromAnthropicId,
  modelsInOrder,
  openAiModel,
  openAiModelList,
} from "./model-list.ts";
import { defineRoute } from "./route.ts";

const prefix = "/v1/models/";

/** The models, in the format of the calling client. Ids may hold `/` and `:`, escaped or not. */
export const modelsRoutes = [
  defineRoute("GET /v1/models", {
    summary: "The account's models, in the format of the calling client.",
    query: {
      refresh: "`1`: ask the IDE again",
      limit: "Anthropic only",
      after_id: "Anthropic only",
      before_id: "Anthropic only",
    },
    answer: modelListSchema,
    async handle(gateway, c) {
      const query = c.search;
      const { models } = await modelsInOrder(gateway, { refresh: query.get("refresh") === "1" }, c.signal);
      return jsonResponse(anthropic(c) ? anthropicModelList(models, query) : openAiModelList(models));
    },
  }),
  defineRoute("GET /v1/models/{id}", {
    takesSlashes: true,
    summary: "One model, by any name that resolves.",
    answer: modelAnswerSchema,
    async handle(gateway, c) {
      const id = idOf(c.path);
      const { model } = await gateway.models.resolve(fromAnthropicId(id), undefined, c.signal);
      return jsonResponse(anthropic(c) ? anthropicModel(model) : openAiModel(model));
    },
  }),
];

function anthropic(c: GatewayContext): boolean {
  return asksInAnthropic(c.path, c.headers);
}

function idOf(path: string): string {
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch (cause) {
    throw new MillraceError("invalid_request", "The model's id is not a valid URL component.", { param: "id", cause });
  }
}
