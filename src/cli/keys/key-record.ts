import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Secret } from "../../base/secret.ts";

/** The units and periods of budgets: days and months of this machine's time zone. */
export const budgetUnits = ["turns", "tokens", "credits"] as const;
export const budgetPeriods = ["day", "month"] as const;

/** The APIs that a key may be held to: dialects, by the names that turns have. */
export const apiNames = [
  "openai-chat",
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "idempotent",
] as const;

const limitsSchema = z.object({
  /** Names or UIDs; any model where the list is empty. */
  models: z.array(z.string()),
  /** Any API where the list is empty. */
  apis: z.array(z.enum(apiNames)),
  budget: z
    .object({
      most: z.number().positive(),
      unit: z.enum(budgetUnits),
      period: z.enum(budgetPeriods),
    })
    .optional(),
  /** The most turns of the key that may run at the same time. */
  maxTurns: z.int().positive().optional(),
  expiresAtMs: z.int().optional(),
});

const keySchema = limitsSchema.extend({
  /** Stays when the key is rotated: turns and budget are counted by it. */
  id: z.string().min(1),
  name: z.string().min(1),
  createdAtMs: z.int(),
  salt: z.string().min(1),
  /** HMAC-SHA256 of the key, under the salt. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  revokedAtMs: z.int().optional(),
  /** How often it was changed. Of two copies of a key the one with more changes holds. */
  revision: z.int().nonnegative().optional(),
});

const fileSchema = z.object({ version: z.literal(1), keys: z.array(keySchema) });

export type KeyLimits = z.infer<typeof limitsSchema>;
export type Budget = NonNullable<KeyLimits["budget"]>;
export type KeyRecord = z.infer<typeof keySchema>;

export function keyState(
  { revokedAtMs, expiresAtMs = Infinity }: KeyRecord,
  nowMs: number,
): "works" | "expired" | "revoked" {
  if (revokedAtMs !== undefined) return "revoked";
  return expiresAtMs <= nowMs ? "expired" : "works";
}

/**
 * A key has 256 random bits, so nobody can try all of them: a fast hash is as good here as a slow one for passwords, and every
 * request pays for it. The salt makes two files incomparable.
 */
export function hashKey(key: Secret, salt: string): string {
  return createHmac("sha256", salt).update(key.reveal()).digest("hex");
}

/** Keys as a text: the content of their file, and of the text that gateways share. */
export function encodeKeys(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`;
}

/** Throws where the text is none that `encodeKeys` made. */
export function decodeKeys(text: string): readonly KeyRecord[] {
  return fileSchema.parse(JSON.parse(text)).keys;
}
