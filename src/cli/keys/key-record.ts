import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Secret } from "../../base/secret.ts";

const limitsSchema = z.object({
  /** Names or UIDs; any model where the list is empty. */
  models: z.array(z.string()),
  /** The most turns that may start on one day of UTC. */
  turnsPerDay: z.int().positive().optional(),
  expiresAtMs: z.int().optional(),
});

const keySchema = limitsSchema.extend({
  id: z.string().min(1),
  name: z.string().min(1),
  createdAtMs: z.int(),
  salt: z.string().min(1),
  /** HMAC-SHA256 of the key, under the salt. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  revokedAtMs: z.int().optional(),
  /** The turns that started on the last day on which one did. Only a key with `turnsPerDay` has it. */
  started: z.object({ day: z.iso.date(), turns: z.int().nonnegative() }).optional(),
});

/** Members that this version does not know are kept: a change of the file must not remove a limit. */
const fileSchema = z.object({ version: z.literal(1), keys: z.array(keySchema.loose()) });

export type KeyLimits = z.infer<typeof limitsSchema>;
export type KeyRecord = z.infer<typeof keySchema>;

export function keyState(
  { revokedAtMs, expiresAtMs = Infinity }: KeyRecord,
  nowMs: number,
): "works" | "expired" | "revoked" {
  if (revokedAtMs !== undefined) return "revoked";
  return expiresAtMs <= nowMs ? "expired" : "works";
}

/**
 * The limits in a record that this version does not know, such as `budget` of development builds. Nothing counts them, so the key
 * must not start a turn. An empty list limits nothing.
 */
export function unknownLimits(key: KeyRecord): readonly string[] {
  const isLimit = ([name, value]: [string, unknown]) =>
    !(name in keySchema.shape) && name !== "revision" && !(Array.isArray(value) && value.length === 0);
  return Object.entries(key)
    .filter(isLimit)
    .map(([name]) => name);
}

/** The day of UTC that an instant lies in, such as `2026-11-22`, and its end in epoch ms. UTC is the same for every gateway. */
export function dayOf(atMs: number): { readonly day: string; readonly endsAtMs: number } {
  const dayMs = 86_400_000;
  return { day: new Date(atMs).toISOString().slice(0, 10), endsAtMs: (Math.floor(atMs / dayMs) + 1) * dayMs };
}

/** How many turns of the key have started on this day of UTC. */
export function startedOn(day: string, { started }: KeyRecord): number {
  return started?.day === day ? started.turns : 0;
}

/**
 * A key has 256 random bits, so nobody can try all of them: a fast hash is as good here as a slow one for passwords, and every
 * request pays for it. The salt makes two files incomparable.
 */
export function hashKey(key: Secret, salt: string): string {
  return createHmac("sha256", salt).update(key.reveal()).digest("hex");
}

/** Keys as the text of their file. */
export function encodeKeys(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`;
}

/** Throws where the text is none that `encodeKeys` made. */
export function decodeKeys(text: string): readonly KeyRecord[] {
  return fileSchema.parse(JSON.parse(text)).keys;
}
