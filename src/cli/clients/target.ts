import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { callGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
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
    }),
  ),
});

/** How many models are written into a configuration unless all are asked for. */
const fewModels = 8;

/** Reads a client's target: a gateway's models, and the model that was asked for, else the account's default, else the first. */
export async function readTarget(
  gateway: GatewayClient,
  url: string,
  wanted: string | undefined,
  options: { readonly keyCommand: string; readonly allModels?: boolean; readonly signal: AbortSignal },
): Promise<Target> {
  const { keyCommand, allModels = true, signal } = options;
  const answer: unknown = await (await callGateway(gateway, "/v1/models", { signal })).json();
  const data = listSchema.parse(answer).data.filter(({ id }) => isPlain(id));
  const models = data.map(
    (model): ListedModel => ({
      id: model.id,
      name: model.display_name ?? model.id,
      contextTokens: model.context_length,
      maxOutputTokens: model.max_output_tokens,
      images: model.modalities?.input.includes("image") ?? false,
    }),
  );
  const model = wanted ?? data.find((each) => each.default === true)?.id ?? models[0]?.id;
  if (model === undefined) throw new MillraceError("model_not_allowed", "The account has no model that can be called.");
  return { url, model, models: allModels ? models : shortList(models, model, fewModels), keyCommand };
}

/** Whether a model's id is one printable line. The list comes from the vendor, and ids become lines for a shell and for files. */
function isPlain(id: string): boolean {
  return visible(id) === id && !/[\s\u2028\u2029]/.test(id.replaceAll(" ", ""));
}

/** The chosen model, and the newest of each family beside it. */
export function shortList(models: readonly ListedModel[], chosen: string, count: number): readonly ListedModel[] {
  const newest = new Map<string, ListedModel>();
  for (const model of models) {
    const family = familyOf(model);
    const known = newest.get(family);
    if (known === undefined || isNewer(model, known)) newest.set(family, model);
  }
  const others = [...newest.values()].filter(({ id }) => id !== chosen);
  return [...models.filter(({ id }) => id === chosen), ...others].slice(0, count);
}

/** A name without its version and the parts after it. */
function familyOf({ id }: ListedModel): string {
  return id.replace(/[-.]?\d.*$/, "");
}

/** By the version in the name; of two names with one version the shorter, which has no variant. */
function isNewer(a: ListedModel, b: ListedModel): boolean {
  const version = ({ id }: ListedModel) => /\d+(?:\.\d+)?/.exec(id)?.[0] ?? "0";
  const order = version(a).localeCompare(version(b), "en", { numeric: true });
  return order === 0 ? a.id.length < b.id.length : order > 0;
}
