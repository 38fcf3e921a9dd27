import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { z } from "zod";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { Secret } from "../../base/secret.ts";

/** What a budget counts, and over which time: days and months of this machine's time zone. */
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
  /** How many turns of it may run at the same time. */
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
});

const fileSchema = z.object({ version: z.literal(1), keys: z.array(keySchema) });

export type KeyLimits = z.infer<typeof limitsSchema>;
export type Budget = NonNullable<KeyLimits["budget"]>;
export type KeyRecord = z.infer<typeof keySchema>;

export function stateOf(
  { revokedAtMs, expiresAtMs = Infinity }: KeyRecord,
  nowMs: number,
): "works" | "expired" | "revoked" {
  if (revokedAtMs !== undefined) return "revoked";
  return expiresAtMs <= nowMs ? "expired" : "works";
}

/** Every key that was made, also the revoked ones. Throws `degraded` where the file is there but cannot be used. */
export function readKeys(file: string): readonly KeyRecord[] {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // fs throws nothing else
    throw unusable(file, "it cannot be read", error);
  }
  try {
    const { mode } = fstatSync(descriptor);
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw unusable(file, `others may read it (mode ${(mode & 0o777).toString(8)})`);
    return parse(file, readFileSync(descriptor, "utf8"));
  } finally {
    closeSync(descriptor);
  }
}

function parse(file: string, text: string): readonly KeyRecord[] {
  try {
    return fileSchema.parse(JSON.parse(text)).keys;
  } catch (error) {
    throw unusable(file, "it is damaged", error);
  }
}

/** Makes a key; only its hash is kept. A name that is in use is refused; that of a revoked key is free again. */
export function createKey(file: string, name: string, limits: KeyLimits, nowMs: number): Secret {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name) || name === "owner" || name === "dashboard")
    throw new MillraceError("invalid_request", `A key cannot be called ${JSON.stringify(name)}.`, {
      hint: "Use 1 to 64 letters, digits, dots, hyphens and underscores. `owner` and `dashboard` are taken.",
    });
  const { key, hashed } = newKey();
  locked(file, (keys) => {
    if (keys.some((other) => other.name === name && other.revokedAtMs === undefined))
      throw new MillraceError("invalid_request", `There is a key called ${name} already.`, {
        hint: "`millrace keys rotate` gives it a new value; `millrace keys revoke` ends it.",
      });
    return [
      ...keys.filter((other) => other.name !== name),
      { ...limits, ...hashed, id: randomUUID(), name, createdAtMs: nowMs },
    ];
  });
  return key;
}

/** A new value for a key; the old one stops working. Its turns, limits and budget stay. */
export function rotateKey(file: string, name: string): Secret {
  const { key, hashed } = newKey();
  change(file, name, (record) => ({ ...record, ...hashed }));
  return key;
}

/** Ends a key. Its name is kept, for the history. */
export function revokeKey(file: string, name: string, nowMs: number): void {
  change(file, name, (record) => ({ ...record, revokedAtMs: nowMs }));
}

/**
 * A key has 256 random bits, so it cannot be guessed. A fast hash is therefore as safe as a slow one, and every request pays for
 * it. With the salt, the hashes of two files cannot be compared.
 */
export function hashKey(key: Secret, salt: string): string {
  return createHmac("sha256", salt).update(key.reveal()).digest("hex");
}

function newKey(): { readonly key: Secret; readonly hashed: Pick<KeyRecord, "salt" | "hash"> } {
  const key = new Secret(`mrk_${randomBytes(32).toString("base64url")}`);
  const salt = randomBytes(16).toString("base64url");
  return { key, hashed: { salt, hash: hashKey(key, salt) } };
}

function change(file: string, name: string, to: (record: KeyRecord) => KeyRecord): void {
  locked(file, (keys) => {
    const found = keys.find((key) => key.name === name && key.revokedAtMs === undefined);
    if (found === undefined)
      throw new MillraceError("invalid_request", `There is no key called ${JSON.stringify(name)}.`, {
        hint: "`millrace keys list` shows all keys.",
      });
    return keys.map((key) => (key === found ? to(key) : key));
  });
}

/** Replaces the keys by what `change` makes of them. No other process changes the file meanwhile: two commands at once lose no key. */
function locked(file: string, change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): void {
  try {
    withFileLock(file, () => {
      const keys = change(readKeys(file));
      replaceFileSync(file, `${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`);
    });
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw unusable(file, "it cannot be written", error);
  }
}

function unusable(file: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError("degraded", `The file of the keys (${file}) cannot be used: ${why}.`, {
    hint: `Run \`chmod 600 ${file}\`, or put a good copy back. Until then only the owner's key opens the gateway.`,
    cause,
  });
}
