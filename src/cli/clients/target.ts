import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { askGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { visible } from "../terminal/foreign-text.ts";
import type { ListedModel, Target } from "./client.ts";

const listSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      default: z.boolean().optional(),
      display_name: z.string().optional(),
      context_length: z.number().optional(),
      max_output_tokens: z.number().optional(),
      modalities: z.object({ input: z.array(z.string()) }).optional(),
      millrace: z.object({ cost_tier: z.string().nullish(), credit_multiplier: z.number().nullish() }).optional(),
    }),
  ),
});

/** How many models are written into a configuration unless all are asked for. */
const fewModels = 8;

/** The models of a gateway that can be called. */
export async function listModels(gateway: GatewayClient, signal: AbortSignal) {
  const { data } = await askGateway(gateway, "/v1/models", listSchema, { signal });
  return data.filter(({ id }) => isPlain(id));
}

/**
 * Reads a client's target: a gateway's models, and the model that was asked for, else the default one.
 *
 * @throws MillraceError `unknown_model`, with the nearest names, where the gateway has no model of the name that was asked for.
 */
export async function readTarget(
  gateway: GatewayClient,
  url: string,
  wanted: string | undefined,
  options: Pick<Target, "shell"> & { readonly allModels?: boolean; readonly signal: AbortSignal },
): Promise<Target> {
  const { shell, allModels = true, signal } = options;
  const data = await listModels(gateway, signal);
  const models = data.map(
    (model): ListedModel => ({
      id: model.id,
      name: model.display_name ?? model.id,
      contextTokens: model.context_length,
      maxOutputTokens: model.max_output_tokens,
      images: model.modalities?.input.includes("image") ?? false,
    }),
  );
  const { id: model, why } =
    wanted === undefined ? defaultModel(data) : { id: await idOf(gateway, wanted, signal), why: undefined };
  const small = freeModel(data) ?? model;
  const short = shortList(models, model, fewModels);
  const withSmall = short.some(({ id }) => id === small)
    ? short
    : [...short, ...models.filter(({ id }) => id === small)];
  return { url, model, why, models: allModels ? models : withSmall, small, newest: newestOfFamilies(data), shell };
}

/** The id of the model that a name means. Throws the gateway's `unknown_model` with the nearest names. */
export async function idOf(gateway: GatewayClient, name: string, signal: AbortSignal): Promise<string> {
  const schema = z.object({ id: z.string() });
  const { id } = await askGateway(gateway, `/v1/models/${encodeURIComponent(name)}`, schema, { signal });
  return id;
}

/** The newest model of each family that has a version in its name. */
function newestOfFamilies(models: readonly { readonly id: string }[]): Readonly<Record<string, string>> {
  const newest = new Map<string, { readonly id: string }>();
  for (const model of models) {
    const family = familyOf(model);
    const known = newest.get(family);
    if (known === undefined || isNewer(model, known)) newest.set(family, model);
  }
  return Object.fromEntries([...newest].map(([family, { id }]) => [family, id]));
}

/**
 * The newest model that costs nothing, if there is one, whichever was used last; a slot of the vendor says nothing about what it is.
 */
export function freeModel(
  models: readonly Pick<z.output<typeof listSchema>["data"][number], "id" | "millrace">[],
): string | undefined {
  const free = models.filter(({ id, millrace: cost }) => {
    const isFree = cost?.credit_multiplier == null ? cost?.cost_tier === "free" : cost.credit_multiplier === 0;
    return isFree && !id.startsWith("MODEL_");
  });
  return free.map(({ id }) => id).toSorted(byName)[0];
}

/** An order that depends on the names alone: the families of the vendor's own small models first, of one family the newest. */
function byName(a: string, b: string): number {
  const rank = (id: string) => (id.startsWith("swe-") ? 0 : 1);
  const [first, second] = [familyOf({ id: a }), familyOf({ id: b })];
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (first !== second) return first < second ? -1 : 1;
  return isNewer({ id: a }, { id: b }) ? -1 : 1;
}

/**
 * The target where no IDE can say which models there are, because of `error`: the one that was asked for, else a name that means the
 * newest of its family in every account.
 */
export function targetWithoutModels(
  error: MillraceError,
  { url, wanted, shell }: Pick<Target, "url" | "shell"> & { readonly wanted: string | undefined },
): Target {
  const model = wanted ?? usualModel;
  const cause = error.code === "not_signed_in" ? "No account is signed in" : "No IDE runs";
  const choice = wanted === undefined ? ", the newest one of your account (`--model` names another one)" : "";
  return {
    url,
    model,
    why: `${cause}, so the configuration names only ${model}${choice}. Start Devin Desktop before the first question; then this command also writes the other models.`,
    models: [{ id: model, name: model, contextTokens: undefined, maxOutputTokens: undefined, images: true }],
    small: model,
    newest: Object.fromEntries(["claude-opus", "claude-sonnet", "claude-haiku"].map((family) => [family, family])), // the gateway takes these for the newest
    shell,
  };
}

/** For a client that asks no model. */
export function withoutTarget(shell: Target["shell"]): Target {
  return { url: "", model: "", why: undefined, models: [], small: "", newest: {}, shell };
}

/** What `resolveModel` takes for the newest model of the first family below. Not `sonnet`: Claude Code has a meaning of its own for that. */
const usualModel = "claude-sonnet";

/** Families for everyday use, the first that the account has is taken where it names no default. */
const recommended = [usualModel, "gpt", "claude-opus", "gemini", "swe"];

/**
 * The model where none was asked for, and why that one. A slot of the vendor (`MODEL_PRIVATE_2`) says nothing about what it is, so it is
 * taken only where there is nothing else.
 *
 * @throws MillraceError `model_not_allowed` where the account has none.
 */
export function defaultModel(models: readonly { readonly id: string; readonly default?: boolean | undefined }[]): {
  readonly id: string;
  /** Undefined where the account itself names it. */
  readonly why: string | undefined;
} {
  const own = models.find((model) => model.default === true);
  if (own !== undefined) return { id: own.id, why: undefined };
  const named = models.filter(({ id }) => !id.startsWith("MODEL_"));
  const ofFamily = recommended.map((family) => named.filter((model) => familyOf(model) === family));
  const best = ofFamily.find((family) => family.length > 0)?.reduce((a, b) => (isNewer(b, a) ? b : a));
  const id = best?.id ?? named[0]?.id ?? models[0]?.id;
  if (id === undefined) throw new MillraceError("model_not_allowed", "The account has no model that can be called.");
  return {
    id,
    why: `The account names no default model, so Millrace takes ${id}. \`millrace config set model <name>\` sets another one; \`millrace models\` lists them.`,
  };
}

/** Whether a model's id is one printable line. The list comes from the vendor, and ids become lines for a shell and for files. */
function isPlain(id: string): boolean {
  return visible(id) === id && !/[\s\u2028\u2029]/.test(id.replaceAll(" ", ""));
}

/** The chosen model, and the first of the others: the gateway lists those used last and the newest of each family first. */
export function shortList(models: readonly ListedModel[], chosen: string, count: number): readonly ListedModel[] {
  const others = models.filter(({ id }) => id !== chosen);
  return [...models.filter(({ id }) => id === chosen), ...others].slice(0, count);
}

/** A name without its version and the parts after it. */
function familyOf({ id }: Pick<ListedModel, "id">): string {
  return id.replace(/[-.]?\d.*$/, "");
}

/** By the version in the name; of two names with one version the shorter, which has no variant. */
function isNewer(a: Pick<ListedModel, "id">, b: Pick<ListedModel, "id">): boolean {
  const version = ({ id }: Pick<ListedModel, "id">) => /\d+(?:\.\d+)?/.exec(id)?.[0] ?? "0";
  const order = version(a).localeCompare(version(b), "en", { numeric: true });
  return order === 0 ? a.id.length < b.id.length : order > 0;
}
