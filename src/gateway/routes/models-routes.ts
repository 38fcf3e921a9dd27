import type { Hono } from "hono";
import { MillraceError } from "../../base/errors.ts";
import { asksInAnthropic, type Gateway, type GatewayContext, type GatewayEnv, jsonResponse } from "../http/context.ts";
import { anthropicModel, anthropicModelList, fromAnthropicId, openAiModel, openAiModelList } from "./model-list.ts";

const prefix = "/v1/models/";

/** `GET /v1/models` and `/v1/models/{id}`, in the shape of who asks. Ids may hold `/` and `:`, escaped or not. */
export function mountModels(app: Hono<GatewayEnv>, gateway: Gateway): void {
  app.get("/v1/models", async (c) => {
    const query = new URL(c.req.url).searchParams;
    const models = await gateway.models.list({ refresh: query.get("refresh") === "1" }, c.req.raw.signal);
    return jsonResponse(anthropic(c) ? anthropicModelList(models, query) : openAiModelList(models));
  });
  app.get(`${prefix}*`, async (c) => {
    const id = idOf(c.req.path);
    const { model } = await gateway.models.resolve(fromAnthropicId(id), undefined, c.req.raw.signal);
    return jsonResponse(anthropic(c) ? anthropicModel(model) : openAiModel(model));
  });
}

function anthropic(c: GatewayContext): boolean {
  return asksInAnthropic(c.req.path, c.req.raw.headers);
}

function idOf(path: string): string {
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch (cause) {
    throw new MillraceError("invalid_request", "The model's id is not a valid URL component.", { param: "id", cause });
  }
}
