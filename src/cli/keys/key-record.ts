import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { withFileLock } from "../../base/node/file-lock.ts";
import { readOwnFile, UnusableFile } from "../../base/node/own-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { Secret } from "../../base/secret.ts";

const limitsSchema = z.object({
  /** Names or UIDs; any model where the list is empty. */
  models: z.array(z.string()),
  /** The most turns that may start on one day of UTC. */
  turnsPerDay: z.int().positive().optional(),
  expiresAtMs: z.int().optional(),
  /** The port of its door, where it is reached without its value. */
  door: z.int().min(1).max(65_535).optional(),
  /** It belongs to the client of its name, which the owner set up here: a program of the owner's own, as those of `run` are. */
  client: z.literal(true).optional(),
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

/** Strict: a limit that this version does not know would not be counted, and a change of the file would remove it. */
const fileSchema = z.object({ version: z.literal(1), keys: z.array(keySchema.strict()) });

export type KeyLimits = z.infer<typeof limitsSchema>;
export type KeyRecord = z.infer<typeof keySchema>;

export function keyState(
  { revokedAtMs, expiresAtMs = Infinity }: KeyRecord,
  nowMs: number,
): "works" | "expired" | "revoked" {
  if (revokedAtMs !== undefined) return "revoked";
  return expiresAtMs <= nowMs ? "expired" : "works";
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

/** Every key in the file, also the revoked ones. Throws `degraded` where the file is there but cannot be used. */
export function readKeys(file: string): readonly KeyRecord[] {
  let text: string | undefined;
  try {
    text = readOwnFile(file);
  } catch (error) {
    if (error instanceof UnusableFile) throw unusable(file, error.message, error.todo, error);
    throw error;
  }
  try {
    return text === undefined ? [] : fileSchema.parse(JSON.parse(text)).keys;
  } catch (error) {
    throw unusable(file, "it is damaged, or of another version", "Put a good copy back.", error);
  }
}

/**
 * Replaces the keys in the file by the result of `change`. No other process changes them meanwhile: two changes at once lose nothing.
 * If `change` throws, nothing changes. Throws `degraded` where the file cannot be used.
 */
export function changeKeys(file: string, change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): void {
  try {
    withFileLock(file, () => {
      const keys = change(readKeys(file));
      replaceFileSync(file, `${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`);
    });
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw unusable(
      file,
      "it cannot be written",
      "Look at the space on its disk, and at the owner of its folder.",
      error,
    );
  }
}

function unusable(file: string, why: string, todo: string, cause: unknown): MillraceError {
  return new MillraceError("degraded", `The file of the keys (${file}) cannot be used: ${why}.`, {
    hint: `${todo} Until then only the owner's key opens the gateway.`,
    cause,
  });
}

/** Makes a key; only its hash is kept. A name that is in use is refused; that of a revoked key is free again. */
export function createKey(file: string, name: string, limits: KeyLimits, nowMs: number): Secret {
  const key = newKey();
  addKey(file, { ...limits, name }, key, nowMs);
  return key;
}

export function newKey(): Secret {
  return new Secret(`mrk_${randomBytes(32).toString("base64url")}`);
}

/** Adds a key to the list. Throws as `createKey` does. */
export function addKey(file: string, facts: KeyLimits & Pick<KeyRecord, "name">, key: Secret, nowMs: number): void {
  const { name, door } = facts;
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name) || name === "owner" || name === "dashboard")
    throw new MillraceError("invalid_request", `A key cannot be called ${JSON.stringify(name)}.`, {
      hint: "Use 1 to 64 letters, digits, dots, hyphens and underscores. `owner` and `dashboard` are taken.",
    });
  const salt = randomBytes(16).toString("base64url");
  const record: KeyRecord = { ...facts, id: randomUUID(), createdAtMs: nowMs, salt, hash: hashKey(key, salt) };
  changeKeys(file, (keys) => {
    if (keys.some((other) => other.name === name && other.revokedAtMs === undefined))
      throw new MillraceError("invalid_request", `There is a key called ${name} already.`, {
        hint: "`millrace keys revoke` ends it. Then you can make a new one with this name.",
      });
    const here = keys.find(
      (other) => other.door !== undefined && other.door === door && keyState(other, nowMs) === "works",
    );
    if (here !== undefined)
      throw new MillraceError("invalid_request", `The key ${here.name} has a door on port ${here.door} already.`, {
        param: "door",
        hint: "Choose another port.",
      });
    return [...keys, record];
  });
}

/** Ends a key. Its record stays, so that the turns that it started keep its name; the name is free for a new key. */
export function revokeKey(file: string, name: string, nowMs: number): KeyRecord | undefined {
  let ended: KeyRecord | undefined;
  changeKeys(file, (keys) => {
    const found = keys.find((key) => key.name === name && key.revokedAtMs === undefined);
    if (found === undefined)
      throw new MillraceError("invalid_request", `There is no key called ${JSON.stringify(name)}.`, {
        hint: "`millrace keys` shows all keys.",
      });
    ended = found;
    return keys.map((key) => (key === found ? { ...found, revokedAtMs: nowMs } : key));
  });
  return ended;
}

/** How many turns run at the same time in one IDE while several people share it. */
export const sharedMost = 4;

/**
 * How many turns may run at the same time in one IDE now, and why: the owner set it, keys for others work, or the owner is alone.
 * `most` is undefined for any number.
 */
export interface TurnLimit {
  readonly most: number | undefined;
  readonly why: "set" | "shared" | "alone";
}

/** `set` is the owner's setting: 0 for any number, undefined where there is none. */
export function turnLimit(set: number | undefined, keys: Iterable<KeyRecord>, nowMs: number): TurnLimit {
  if (set !== undefined) return { most: set === 0 ? undefined : set, why: "set" };
  const isShared = [...keys].some((key) => key.client !== true && keyState(key, nowMs) === "works");
  return isShared ? { most: sharedMost, why: "shared" } : { most: undefined, why: "alone" };
}

/** In words, for people: as `/health` shows it, with null for any number. */
export function spellTurnLimit({ most, why }: { most: number | null; why: TurnLimit["why"] }): string {
  const many = most === null ? "no limit" : `${most} at once in one IDE`;
  const because = {
    set: "as you set it",
    shared: "because keys for others work; `millrace config set serve.max_turns` changes it",
    alone: "until a key for others works",
  };
  return `${many}, ${because[why]}`;
}
