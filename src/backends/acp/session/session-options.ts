import { z } from "zod";
import type { AcpModel } from "../known/agent-spec.ts";

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
const sessionSchema = z.looseObject({
  sessionId: z.string().min(1).optional(),
  configOptions: z
    .array(configOptionSchema.catch({ id: "", currentValue: undefined }))
    .nullish()
    .catch(undefined),
  modes: modesSchema.nullish().catch(undefined),
});

/** One choice that a session offers, and how it is made. */
export interface ModelChoice {
  readonly configId: string;
  readonly current: string | undefined;
  readonly models: readonly AcpModel[];
}

/** The efforts that a session can be set to. */
export interface EffortChoice {
  readonly configId: string;
  readonly current: string | undefined;
  readonly values: readonly { readonly value: string; readonly label: string }[];
}

/** The offer in the reply to `session/new` or `session/load`. */
export interface SessionOffer {
  readonly sessionId: string | undefined;
  readonly model: ModelChoice | undefined;
  /** How hard the model thinks, if the agent has a separate option for it. */
  readonly effort: EffortChoice | undefined;
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
  const { sessionId, configOptions, modes } = sessionSchema.parse(reply ?? {});
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
        ? undefined
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

/**
 * The modes in which an agent does not write without asking, the most restrictive first. They are whole names: in a longer one
 * ("plan and execute", "don't ask") another word may say that the agent acts. Source: docs/wire/acp-measured.md, "Modes and what they
 * prevent".
 */
const restrictive = ["ask", "read only", "workspace read only", "readonly", "chat", "plan"];
/** The ordinary mode of the agents that Millrace knows: the agent asks before it acts. Another agent may mean anything by the name. */
const ordinary = "default";

/**
 * The most restrictive mode that the session offers; undefined where it offers none. A name that is not in the table counts as
 * permissive. `isKnown`: the agent is one of those whose modes were tried.
 */
export function quietMode({ mode }: SessionOffer, isKnown: boolean): string | undefined {
  const words = (id: string) =>
    id
      .replace(/^.*#/, "") // some agents give an address
      .replaceAll(/(?<=[a-z])(?=[A-Z])|[^A-Za-z]+/g, " ")
      .replace(/ mode$/i, "")
      .trim()
      .toLowerCase();
  const names = isKnown ? [...restrictive, ordinary] : restrictive;
  return names.map((name) => mode?.ids.find((id) => words(id) === name)).find((id) => id !== undefined);
}

/** How hard a model thinks, in the words that agents use for it. Source: docs/wire/acp.md, "Sessions". */
const effortWord = /^(?:none|minimal|low|medium|high|xhigh|max)$/;
const named = /^(.+)@([a-z]+)$/;

/** A model and the effort behind its id; `claude-sonnet-5@high` names an effort that the agent has as a separate option. */
export function splitEffort(id: string): { readonly model: string; readonly effort: string | undefined } {
  const [, model, effort] = named.exec(id) ?? [];
  return model === undefined || effort === undefined || !effortWord.test(effort)
    ? { model: id, effort: undefined }
    : { model, effort };
}

/** The models of a session, and each once more for every effort that the session can be set to. An id that names its effort stays alone. */
export function withEfforts({ model, effort }: SessionOffer): readonly AcpModel[] | undefined {
  const efforts = effort?.values.filter(({ value }) => effortWord.test(value.toLowerCase())) ?? [];
  return model?.models.flatMap((each) =>
    /[-:@](?:none|minimal|low|medium|high|xhigh|max)$/.test(each.id)
      ? [each]
      : [
          each,
          ...efforts.map(({ value, label }) => ({
            ...each,
            id: `${each.id}@${value.toLowerCase()}`,
            label: `${each.label} ${label}`,
            isCurrent: false,
          })),
        ],
  );
}
