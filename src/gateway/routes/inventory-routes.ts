import { z } from "zod";
import { encodeIssuedKey, encodeModel, keySchema, modelSchema } from "../dashboard/inventory.ts";
import { jsonResponse } from "../http/reply.ts";
import { modelsInOrder } from "./models-routes.ts";
import { defineOwnerRoute } from "./route.ts";

/** The inventory besides turns and limits: keys and models, as the dashboard shows them. */
export const inventoryRoutes = [
  defineOwnerRoute("keys", "GET /dashboard/api/keys", {
    summary: "The keys that the owner made for others, with their limits and use, and without their values.",
    answer: z.object({ object: z.literal("list"), data: z.array(keySchema) }),
    async handle({ issuedKeys, turns }) {
      const running = new Map<string, number>();
      const keys = issuedKeys();
      if (keys.length > 0)
        for (const { caller } of await turns.list({ open: true, limit: mostCounted }))
          running.set(caller, (running.get(caller) ?? 0) + 1);
      return jsonResponse({
        object: "list",
        data: keys.map((key) => encodeIssuedKey(key, running.get(key.caller) ?? 0)),
      });
    },
  }),
  defineOwnerRoute("models", "GET /dashboard/api/models", {
    summary: "The account's models with variants, cost, context and last use, also those that cannot be used.",
    query: { refresh: "`1`: ask the IDE again" },
    answer: z.object({ object: z.literal("list"), data: z.array(modelSchema) }),
    async handle(parts, c) {
      const { models, lastUses } = await modelsInOrder(parts, { refresh: c.search.get("refresh") === "1" }, c.signal);
      return jsonResponse({ object: "list", data: models.map((model) => encodeModel(model, lastUses.get(model.uid))) });
    },
  }),
];

/** More turns than these never run at the same time. */
const mostCounted = 10_000;
