import { z } from "zod";
import { isDegraded } from "../../base/errors.ts";
import type { Model } from "../../models/model.ts";
import { type Gateway, jsonResponse } from "../http/context.ts";
import type { IssuedKey } from "../options.ts";
import { defineRoute } from "./route.ts";

const instant = z.iso.datetime();

/** One of a key's or a model's members that may not be known, or may not be set. */
const maybe = <T extends z.ZodType>(type: T) => type.nullable();

const keySchema = z.object({
  name: z.string(),
  state: z.enum(["works", "expired", "revoked"]),
  created_at: instant,
  expires_at: maybe(instant),
  revoked_at: maybe(instant),
  /** Empty: any. */
  models: z.array(z.string()),
  apis: z.array(z.string()),
  max_turns: maybe(z.number()),
  running: z.number(),
  budget: maybe(
    z.object({
      most: z.number(),
      unit: z.enum(["turns", "tokens", "credits"]),
      period: z.enum(["day", "month"]),
      used: maybe(z.number()),
      resets_at: instant,
    }),
  ),
});

const modelSchema = z.object({
  uid: z.string(),
  name: z.string(),
  label: z.string(),
  vendor: z.string(),
  family: maybe(z.string()),
  variant: maybe(z.string()),
  context_tokens: maybe(z.number()),
  max_output_tokens: maybe(z.number()),
  images: z.boolean(),
  credit_multiplier: maybe(z.number()),
  cost_tier: maybe(z.enum(["free", "low", "medium", "high"])),
  is_default: z.boolean(),
  is_new: z.boolean(),
  /** Why it cannot be used; null where it can. */
  disabled_reason: maybe(z.string()),
  last_used_at: maybe(instant),
});

export type KeysEnvelope = { readonly object: "list"; readonly data: readonly z.infer<typeof keySchema>[] };
export type ModelsEnvelope = { readonly object: "list"; readonly data: readonly z.infer<typeof modelSchema>[] };

/** What there is beside turns and limits: keys and models, as the dashboard shows them. */
export const inventoryRoutes = [
  defineRoute("GET /v1/keys", {
    summary: "The keys that the owner made for others, with what each may and has used; never their values.",
    guard: "owner",
    dashboard: true,
    answer: z.object({ object: z.literal("list"), data: z.array(keySchema) }),
    async handle({ issuedKeys, turns }) {
      const running = new Map<string, number>();
      const keys = issuedKeys?.() ?? [];
      if (keys.length > 0)
        for (const { caller } of await turns.list({ open: true, limit: mostCounted }))
          running.set(caller, (running.get(caller) ?? 0) + 1);
      return jsonResponse({ object: "list", data: keys.map((key) => encodeKey(key, running.get(key.caller) ?? 0)) });
    },
  }),
  defineRoute("GET /v1/dashboard/models", {
    summary: "The account's models with variants, cost, context and last use, also those that cannot be used.",
    guard: "owner",
    dashboard: true,
    answer: z.object({ object: z.literal("list"), data: z.array(modelSchema) }),
    async handle(gateway, c) {
      const models = await gateway.models.list({ refresh: false }, c.req.raw.signal);
      const used = lastUses(gateway, models);
      return jsonResponse({ object: "list", data: models.map((model) => encodeModel(model, used.get(model.uid))) });
    },
  }),
];

/** More turns than these never run at the same time. */
const mostCounted = 10_000;

/** Without a history that can be read, no last use is known. */
function lastUses({ meter }: Gateway, models: readonly Model[]): ReadonlyMap<string, number> {
  try {
    return meter?.lastUses(models.map(({ uid }) => uid)) ?? new Map();
  } catch (error) {
    if (isDegraded(error)) return new Map();
    throw error;
  }
}

function encodeModel(model: Model, lastUsedAtMs: number | undefined): z.infer<typeof modelSchema> {
  return {
    uid: model.uid,
    name: model.name,
    label: model.label,
    vendor: model.vendor,
    family: model.family ?? null,
    variant: model.effort ?? null,
    context_tokens: model.contextTokens ?? null,
    max_output_tokens: model.maxOutputTokens ?? null,
    images: model.supportsImages,
    credit_multiplier: model.creditMultiplier ?? null,
    cost_tier: model.costTier ?? null,
    is_default: model.isDefault,
    is_new: model.isNew,
    disabled_reason: model.disabledReason ?? null,
    last_used_at: iso(lastUsedAtMs),
  };
}

function encodeKey(key: IssuedKey, running: number): z.infer<typeof keySchema> {
  const { budget } = key;
  return {
    name: key.name,
    state: key.state,
    created_at: new Date(key.createdAtMs).toISOString(),
    expires_at: iso(key.expiresAtMs),
    revoked_at: iso(key.revokedAtMs),
    models: [...key.models],
    apis: [...key.apis],
    max_turns: key.maxTurns ?? null,
    running,
    budget:
      budget === undefined
        ? null
        : {
            most: budget.most,
            unit: budget.unit,
            period: budget.period,
            used: budget.used ?? null,
            resets_at: new Date(budget.resetsAtMs).toISOString(),
          },
  };
}

function iso(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}
