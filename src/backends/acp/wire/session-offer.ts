import { z } from "zod";

const optionSchema = z.looseObject({
  value: z.string(),
  name: z.string().optional(),
  description: z.string().nullish(),
});
const groupSchema = z.looseObject({ name: z.string().optional(), options: z.array(optionSchema) });
/** Options stand in groups or on their own. */
const entrySchema = z.union([
  groupSchema.transform(({ name, options }) => options.map((option) => ({ ...option, group: name }))),
  optionSchema.transform((option) => [{ ...option, group: undefined }]),
]);
const configOptionSchema = z.looseObject({
  id: z.string(),
  category: z.string().nullish(),
  currentValue: z.unknown(),
  options: z.array(entrySchema).optional(),
});
const modesSchema = z.looseObject({
  currentModeId: z.string(),
  availableModes: z.array(z.looseObject({ id: z.string() })),
});
/** How agents of older versions of the protocol list their models. */
const modelsSchema = z.looseObject({
  currentModelId: z.string().nullish(),
  availableModels: z.array(
    z.looseObject({ modelId: z.string(), name: z.string().nullish(), description: z.string().nullish() }),
  ),
});
const sessionSchema = z.looseObject({
  sessionId: z.string().min(1).optional(),
  configOptions: z
    .array(configOptionSchema.catch({ id: "", currentValue: undefined }))
    .nullish()
    .catch(undefined),
  modes: modesSchema.nullish().catch(undefined),
  models: modelsSchema.nullish().catch(undefined),
});

/** A model as the agent's own options list it. */
export interface AcpModel {
  /** The value for `session/set_config_option`, or for `session/set_model`: "swe-2-high". */
  readonly id: string;
  readonly label: string;
  readonly description: string | undefined;
  /** The heading under which the agent lists it. */
  readonly group: string | undefined;
  /** The agent's default model. */
  readonly isCurrent: boolean;
}

/** The offer in the reply to `session/new` or `session/load`. */
export interface SessionOffer {
  readonly sessionId: string | undefined;
  /** `configId` undefined: the model is set by `session/set_model`. */
  readonly model:
    | {
        readonly configId: string | undefined;
        readonly current: string | undefined;
        readonly models: readonly AcpModel[];
      }
    | undefined;
  /** How hard the model thinks, if the agent has a separate option for it. */
  readonly effort:
    | {
        readonly configId: string;
        readonly current: string | undefined;
        readonly values: readonly { readonly value: string; readonly label: string }[];
      }
    | undefined;
  /** `configId` undefined: the mode is set by `session/set_mode`. */
  readonly mode:
    | { readonly configId: string | undefined; readonly current: string; readonly ids: readonly string[] }
    | undefined;
}

/**
 * Reads what a session can be set to. Options are found by their category, else by their id. Options that this version does
 * not know are skipped. Throws a `ZodError` when the reply is no reply of this kind.
 */
export function readSessionOptions(reply: unknown): SessionOffer {
  const { sessionId, configOptions, modes, models } = sessionSchema.parse(reply ?? {});
  const found = (category: string) =>
    configOptions?.find((option) => option.category === category) ??
    configOptions?.find((option) => option.id === category);
  const named = (category: string) => {
    const option = found(category);
    return option && { configId: option.id, current: option.currentValue, options: (option.options ?? []).flat() };
  };
  const mode = named("mode");
  const offered = {
    model: named("model") ?? ownModels(models ?? undefined),
    effort: named("thought_level"),
    mode: mode?.options.length ? mode : ownModes(modes ?? undefined),
  };
  const { model, effort } = offered;
  return {
    sessionId,
    model: model && {
      configId: model.configId,
      current: textOrUndefined(model.current),
      models: model.options.map(({ value, name, description, group }) => ({
        id: value,
        label: name ?? value,
        description: description ?? undefined,
        group,
        isCurrent: value === model.current,
      })),
    },
    effort: effort && {
      configId: effort.configId,
      current: textOrUndefined(effort.current),
      values: effort.options.map(({ value, name }) => ({ value, label: name ?? value })),
    },
    mode: offered.mode && {
      configId: offered.mode.configId,
      current: String(offered.mode.current),
      ids: offered.mode.options.map(({ value }) => value),
    },
  };
}

function ownModes(modes: z.infer<typeof modesSchema> | undefined) {
  const options = modes?.availableModes.map(({ id: value }) => ({ value }));
  return options && { configId: undefined, current: modes?.currentModeId, options };
}

function ownModels(models: z.infer<typeof modelsSchema> | undefined) {
  if (!models?.availableModels.length) return undefined;
  const options = models.availableModels.map(({ modelId, ...more }) => ({ value: modelId, group: undefined, ...more }));
  return { configId: undefined, current: models.currentModelId, options };
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
