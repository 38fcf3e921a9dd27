import { z } from "zod";
import { isEffort } from "../base/effort.ts";
import type { ModelConfig } from "./hooks.ts";

const listSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      display_name: z.string().optional(),
      context_length: z.number().optional(),
      max_output_tokens: z.number().optional(),
      modalities: z.object({ input: z.array(z.string()), output: z.array(z.string()) }).optional(),
    }),
  ),
});

type ListedModel = z.output<typeof listSchema>["data"][number];

/** OpenCode wants both limits or none; the IDE's own editor asks for this value. Source: docs/dev/wire/cascade.md, "Planner configuration". */
const usualOutputTokens = 32_768;

/**
 * The gateway's `GET /v1/models` as models of an OpenCode provider. A model that is there in several efforts
 * (`name`, `name:high`) is one model with variants, which OpenCode sends as `reasoning_effort`. Limits that the account's
 * list does not say are left out. Throws `ZodError` when the answer is none of a gateway's.
 */
export function modelConfigs(answer: unknown): Record<string, ModelConfig> {
  const models = listSchema.parse(answer).data;
  const ids = new Set(models.map(({ id }) => id));
  const configs: Record<string, ModelConfig> = {};
  for (const model of models) {
    if (baseOf(model.id, ids) !== undefined) continue;
    const variants = models
      .filter(({ id }) => baseOf(id, ids) === model.id)
      .map(({ id }) => id.slice(model.id.length + 1));
    configs[model.id] = config(model, variants);
  }
  return configs;
}

/** The model of which this one is an effort, if that is in the list too. */
function baseOf(id: string, ids: ReadonlySet<string>): string | undefined {
  const colon = id.lastIndexOf(":");
  const base = id.slice(0, colon);
  return colon > 0 && isEffort(id.slice(colon + 1)) && ids.has(base) ? base : undefined;
}

function config(model: ListedModel, variants: readonly string[]): ModelConfig {
  const { context_length: context, max_output_tokens: output, modalities } = model;
  return {
    name: model.display_name ?? model.id,
    tool_call: true,
    attachment: modalities?.input.includes("image") ?? false,
    reasoning: variants.length > 0,
    ...(modalities === undefined ? {} : { modalities }),
    ...(context === undefined ? {} : { limit: { context, output: Math.min(output ?? usualOutputTokens, context) } }),
    ...(variants.length === 0
      ? {}
      : { variants: Object.fromEntries(variants.map((effort) => [effort, { reasoningEffort: effort }])) }),
  };
}
