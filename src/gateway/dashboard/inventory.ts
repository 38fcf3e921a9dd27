import { z } from "zod";
import type { Model } from "../../models/model.ts";

/** A key that the owner made for others, as the dashboard shows it: never the key itself. */
export interface IssuedKey {
  readonly name: string;
  /** The caller under which the key's turns are counted. */
  readonly caller: string;
  readonly state: "works" | "expired" | "revoked";
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** An empty list allows all. */
  readonly models: readonly string[];
  /** The turns that the key may start on one day, and has started; undefined for any number. */
  readonly turnsPerDay: { readonly most: number; readonly used: number; readonly resetsAtMs: number } | undefined;
}

export const instant = z.iso.datetime();

/** A member that may not be known, or may not be set. */
export const maybe = <T extends z.ZodType>(type: T) => type.nullable();

export const keySchema = z.object({
  name: z.string(),
  state: z.enum(["works", "expired", "revoked"]),
  created_at: instant,
  expires_at: maybe(instant),
  revoked_at: maybe(instant),
  /** Empty: any. */
  models: z.array(z.string()),
  running: z.number(),
  turns_per_day: maybe(z.object({ most: z.number(), used: z.number(), resets_at: instant })),
});

export const modelSchema = z.object({
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
  /** What serves it: `acp`, `cascade` or `raw_chat`. */
  backend: maybe(z.string()),
  /** Why it cannot be used; null where it can. */
  disabled_reason: maybe(z.string()),
  last_used_at: maybe(instant),
});

export type KeysEnvelope = { readonly object: "list"; readonly data: readonly z.infer<typeof keySchema>[] };
export type ModelsEnvelope = { readonly object: "list"; readonly data: readonly z.infer<typeof modelSchema>[] };

export function encodeModel(model: Model, lastUsedAtMs: number | undefined): z.infer<typeof modelSchema> {
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
    backend: model.backend ?? null,
    disabled_reason: model.disabledReason ?? null,
    last_used_at: iso(lastUsedAtMs),
  };
}

export function encodeIssuedKey(key: IssuedKey, running: number): z.infer<typeof keySchema> {
  const { turnsPerDay: turns } = key;
  return {
    name: key.name,
    state: key.state,
    created_at: new Date(key.createdAtMs).toISOString(),
    expires_at: iso(key.expiresAtMs),
    revoked_at: iso(key.revokedAtMs),
    models: [...key.models],
    running,
    turns_per_day:
      turns === undefined
        ? null
        : { most: turns.most, used: turns.used, resets_at: new Date(turns.resetsAtMs).toISOString() },
  };
}

function iso(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}
