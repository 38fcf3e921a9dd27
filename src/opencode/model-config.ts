import { z } from "zod";
import { type Effort, isEffort } from "../base/effort.ts";
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
 * The gateway's `GET /v1/models` as models of an OpenCode provider. Models that differ in their effort alone (`name:low`, `name:high`) are one
 * model under the name before the colon, with variants, which OpenCode sends as `reasoning_effort`; the gateway knows that name also where
 * its list has no entry for it. Limits that the account's list does not say are left out. Throws `ZodError` when the answer is none of a gateway's.
 */
export function modelConfigs(answer: unknown): Record<string, ModelConfig> {
  const groups = new Map<string, { base: ListedModel | undefined; readonly efforts: Map<Effort, ListedModel> }>();
  for (const model of listSchema.parse(answer).data) {
    const { base, effort } = nameAndEffort(model.id);
    const group = groups.get(base) ?? { base: undefined, efforts: new Map<Effort, ListedModel>() };
    groups.set(base, group);
    if (effort === undefined) group.base = model;
    else group.efforts.set(effort, model);
  }
  const configs: Record<string, ModelConfig> = {};
  for (const [id, { base, efforts }] of groups) {
    const usual = base ?? efforts.get("medium") ?? [...efforts.values()][0];
    if (usual === undefined) continue; // no group is empty
    const name = base === undefined ? id : (base.display_name ?? id);
    configs[id] = config({ ...usual, display_name: name }, [...efforts.keys()]);
  }
  return configs;
}

function nameAndEffort(id: string): { readonly base: string; readonly effort?: Effort } {
  const colon = id.lastIndexOf(":");
  const effort = id.slice(colon + 1);
  return colon > 0 && isEffort(effort) ? { base: id.slice(0, colon), effort } : { base: id };
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
