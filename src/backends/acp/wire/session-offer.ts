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
  const named = (category: string) =>
    configOptions?.find((option) => option.category === category) ??
    configOptions?.find((option) => option.id === category);
  const model = named("model");
  const mode = named("mode");
  const effort = named("thought_level");
  const modeOptions = (mode?.options ?? []).flat();
  return {
    sessionId,
    model:
      model === undefined
        ? ownModels(models ?? undefined)
        : { configId: model.id, current: textOrUndefined(model.currentValue), models: modelsOf(model) },
    effort:
      effort === undefined
        ? undefined
        : {
            configId: effort.id,
            current: textOrUndefined(effort.currentValue),
            values: (effort.options ?? []).flat().map(({ value, name }) => ({ value, label: name ?? value })),
          },
    mode:
      mode === undefined || modeOptions.length === 0
        ? ownModes(modes ?? undefined)
        : { configId: mode.id, current: String(mode.currentValue), ids: modeOptions.map(({ value }) => value) },
  };
}

function ownModes(modes: z.infer<typeof modesSchema> | undefined): SessionOffer["mode"] {
  if (modes === undefined) return undefined;
  return { configId: undefined, current: modes.currentModeId, ids: modes.availableModes.map(({ id }) => id) };
}

function ownModels(models: z.infer<typeof modelsSchema> | undefined): SessionOffer["model"] {
  if (models === undefined || models.availableModels.length === 0) return undefined;
  const { currentModelId, availableModels } = models;
  const options = [
    availableModels.map(({ modelId, name, description }) => ({
      value: modelId,
      name: name ?? modelId,
      description,
      group: undefined,
    })),
  ];
  const current = currentModelId ?? undefined;
  return { configId: undefined, current, models: modelsOf({ id: "models", currentValue: current, options }) };
}

function modelsOf({ currentValue, options }: z.infer<typeof configOptionSchema>): readonly AcpModel[] {
  return (options ?? []).flat().map(({ value, name, description, group }) => ({
    id: value,
    label: name ?? value,
    description: description ?? undefined,
    group,
    isCurrent: value === currentValue,
  }));
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
