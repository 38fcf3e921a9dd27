import { z } from "zod";
import { callGateway, type GatewayClient } from "./gateway-client.ts";

const healthSchema = z.looseObject({
  paused: z.unknown().optional(),
  turn_limit: z.object({ most: z.number().nullable(), why: z.enum(["set", "shared", "alone"]) }).optional(),
  details: z
    .looseObject({
      backend: z.looseObject({
        kind: z.string(),
        why: z.string(),
        product: z.string().optional(),
        beside: z.string().optional(),
        hint: z.string().optional(),
      }),
    })
    .optional(),
});

/** The answer of `/health` of a running gateway, as its owner gets it. */
export async function readHealth(gateway: GatewayClient, signal: AbortSignal): Promise<z.output<typeof healthSchema>> {
  const response = await callGateway(gateway, "/health", { signal });
  return healthSchema.parse(await response.json());
}
