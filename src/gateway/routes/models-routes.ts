import { isDegraded, MillraceError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Model } from "../../models/model.ts";
import { inOrder } from "../../models/model-order.ts";
import type { GatewayContext, ModelParts } from "../http/context.ts";
import { jsonResponse } from "../http/reply.ts";
import { vendorAnswer } from "./answer-schemas.ts";
import { defineRoute, limitIn } from "./route.ts";

/**
 * The live list has no dates; clients compare polls, so every model has this one.
 * Source: docs/dev/wire/requirements.json.
 */
const created = Date.UTC(2025, 0, 1) / 1000;

/** The same as a time. */
const createdAt = new Date(created * 1000).toISOString();

/** Claude Code shows only ids that begin with `claude` or `anthropic`. Source: docs/dev/wire/requirements.json. */
const anthropicPrefix = "anthropic/";

/** Every model in the one order, and when it was used last (epoch ms by UID). Throws as listing them does. */
export async function modelsInOrder(
  { models, meter }: Pick<ModelParts, "models" | "meter">,
  options: { readonly refresh: boolean },
  signal: AbortSignal,
): Promise<{ readonly models: readonly Model[]; readonly lastUses: ReadonlyMap<string, number> }> {
  const all = await models.list(options, signal);
  const lastUses = lastUsesOf(meter, all);
  return { models: inOrder(all, lastUses), lastUses };
}

/** Without a history that can be read, no last use is known. */
function lastUsesOf(meter: ModelParts["meter"], models: readonly Model[]): ReadonlyMap<string, number> {
  try {
    return meter.lastUses(models.map(({ uid }) => uid));
  } catch (error) {
    if (isDegraded(error)) return new Map();
    throw error;
  }
}

/** Models that can be called, each name once. */
export function listed(models: readonly Model[]): readonly Model[] {
  const byName = new Map<string, Model>();
  for (const model of models) if (model.disabledReason === undefined) byName.set(model.name, model);
  return [...byName.values()];
}

/** `GET /v1/models` as OpenAI answers it, with limits beside for clients that look. */
export function openAiModelList(models: readonly Model[], modelOf = openAiModel): unknown {
  return { object: "list", data: listed(models).map(modelOf) };
}

export function openAiModel(model: Model): JsonObject {
  return {
    id: model.name,
    object: "model",
    created,
    owned_by: model.vendor,
    ...(model.isDefault ? { default: true } : {}),
    display_name: model.label,
    ...limits(model),
  };
}

/** The same with what LM Studio's `GET /api/v0/models` has beside. Programs that know its address refuse a list without these. */
function lmStudioModel(model: Model): JsonObject {
  const { vendor, family, supportsImages, contextTokens } = model;
  return {
    ...openAiModel(model),
    type: supportsImages ? "vlm" : "llm",
    publisher: vendor,
    arch: family ?? vendor,
    compatibility_type: "gguf",
    state: "loaded",
    ...(contextTokens === undefined ? {} : { max_context_length: contextTokens, loaded_context_length: contextTokens }),
    capabilities: ["tool_use"],
  };
}

/** `GET /v1/models` as Anthropic answers it: one page, as long as asked. */
export function anthropicModelList(models: readonly Model[], query: URLSearchParams): unknown {
  const all = listed(models).map((model) => anthropicModel(model, models));
  const { page, more } = pageOf(all, query);
  return { data: page, has_more: more, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null };
}

/** A model as Anthropic describes it. `all`: the list, whose members of its family are its efforts. */
export function anthropicModel(model: Model, all: readonly Model[]) {
  return {
    type: "model",
    id: anthropicId(model.name),
    display_name: model.label,
    created_at: createdAt,
    deprecated_at: null,
    retires_at: null,
    lifecycle: "active",
    line: lines.find((line) => model.name.includes(line)) ?? null,
    capabilities: capabilitiesOf(model, all),
    max_input_tokens: null,
    max_tokens: null,
    ...limits(model),
  };
}

/** Anthropic's names of its model lines. */
const lines = ["haiku", "sonnet", "opus", "fable", "mythos"] as const;

/** What this gateway can do with a model; what the vendor's own servers would do is not supported. */
function capabilitiesOf({ family, supportsImages }: Model, all: readonly Model[]): JsonObject {
  const yes = (supported: boolean) => ({ supported });
  const has = (effort: string) =>
    yes(family !== undefined && all.some((one) => one.family === family && one.effort === effort));
  const levels = { low: has("low"), medium: has("medium"), high: has("high"), xhigh: has("xhigh"), max: has("max") };
  return {
    batch: yes(false),
    citations: yes(false),
    code_execution: yes(false),
    context_management: {
      supported: false,
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
    },
    effort: { ...yes(Object.values(levels).some(({ supported }) => supported)), ...levels },
    image_input: yes(supportsImages),
    pdf_input: yes(false),
    server_tools: { supported: false, code_execution: yes(false), web_search: yes(false) },
    structured_outputs: yes(true),
    thinking: yes(true),
  };
}

/** A name as Claude Code accepts it. */
export function anthropicId(name: string): string {
  return /^(claude|anthropic)/.test(name) ? name : anthropicPrefix + name;
}

/** The name behind an id that `anthropicId` made. */
export function fromAnthropicId(id: string): string {
  return id.startsWith(anthropicPrefix) ? id.slice(anthropicPrefix.length) : id;
}

function limits(model: Model): Readonly<Record<string, unknown>> {
  return {
    ...(model.contextTokens === undefined
      ? {}
      : {
          context_length: model.contextTokens,
          context_window: model.contextTokens,
          max_input_tokens: model.contextTokens,
        }),
    ...(model.maxOutputTokens === undefined
      ? {}
      : { max_output_tokens: model.maxOutputTokens, max_tokens: model.maxOutputTokens }),
    modalities: { input: model.supportsImages ? ["text", "image"] : ["text"], output: ["text"] },
    millrace: {
      uid: model.uid,
      backend: model.backend ?? null,
      cost_tier: model.costTier ?? null,
      credit_multiplier: model.creditMultiplier ?? null,
    },
  };
}

/** `limit`, `after_id`; a limit that is no number is none. */
function pageOf<T extends { readonly id: string }>(all: readonly T[], query: URLSearchParams) {
  const limit = limitIn(query, 1000, 1000);
  const after = all.findIndex((model) => model.id === query.get("after_id"));
  return { page: all.slice(after + 1, after + 1 + limit), more: after + 1 + limit < all.length };
}

/** The version whose API this is: editors ask for it and need a new one. */
export const ollamaVersion = "0.13.0";

/** A model as `GET /api/tags` lists it. */
export function ollamaTag(model: Model): JsonObject {
  return {
    name: model.name,
    model: model.name,
    modified_at: createdAt,
    size: 0,
    digest: model.uid,
    details: detailsOf(model),
  };
}

/** A model as `POST /api/show` describes it. */
export function ollamaShow(model: Model): JsonObject {
  const { vendor, contextTokens, supportsImages } = model;
  return {
    modelfile: "",
    parameters: "",
    template: "",
    details: detailsOf(model),
    model_info: {
      "general.architecture": vendor,
      "general.basename": model.name,
      ...(contextTokens === undefined ? {} : { [`${vendor}.context_length`]: contextTokens }),
    },
    capabilities: ["completion", "tools", "thinking", ...(supportsImages ? ["vision"] : [])],
    modified_at: createdAt,
  };
}

function detailsOf({ vendor, family }: Model): JsonObject {
  const own = family ?? vendor;
  return { parent_model: "", format: "", family: own, families: [own], parameter_size: "", quantization_level: "" };
}

const prefix = "/v1/models/";

/** The models, in the format of the calling client. Ids may hold `/` and `:`, escaped or not. */
export const modelsRoutes = [
  defineRoute("models", "GET /v1/models", {
    summary: "The account's models, in the format of the calling client.",
    query: {
      refresh: "`1`: ask the IDE again",
      limit: "Anthropic only",
      after_id: "Anthropic only",
    },
    answer: vendorAnswer,
    async handle(parts, c) {
      const query = c.search;
      const { models } = await modelsInOrder(parts, { refresh: query.get("refresh") === "1" }, c.signal);
      return jsonResponse(
        c.api === "anthropic" ? anthropicModelList(models, query) : openAiModelList(models, modelFor(c)),
      );
    },
  }),
  defineRoute("models", "GET /v1/models/{id}", {
    takesSlashes: true,
    summary: "One model, by any name that resolves.",
    answer: vendorAnswer,
    async handle(parts, c) {
      const id = idOf(c.path);
      const { model } = await parts.models.resolve(fromAnthropicId(id), undefined, c.signal);
      if (c.api !== "anthropic") return jsonResponse(modelFor(c)(model));
      return jsonResponse(anthropicModel(model, await parts.models.list({ refresh: false }, c.signal)));
    },
  }),
];

function modelFor({ api }: GatewayContext): (model: Model) => JsonObject {
  return api === "lmstudio" ? lmStudioModel : openAiModel;
}

function idOf(path: string): string {
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch (cause) {
    throw new MillraceError("invalid_request", "The model's id is not a valid URL component.", { param: "id", cause });
  }
}
