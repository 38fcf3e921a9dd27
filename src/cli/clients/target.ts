import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { callGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
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

/** What a client is pointed at: a gateway's models, and the one that was asked for, else the account's default, else the first. */
export async function readTarget(
  gateway: GatewayClient,
  url: string,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<Target> {
  const answer: unknown = await (await callGateway(gateway, "/v1/models", { signal })).json();
  const { data } = listSchema.parse(answer);
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
  return { url, model, models };
}
