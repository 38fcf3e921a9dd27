import { randomBytes, randomUUID } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { hashKey, type KeyLimits, type KeyRecord } from "./key-record.ts";
import type { KeyStore } from "./key-store.ts";

type Changing = Pick<KeyStore, "change">;

/** Makes a key; only its hash is kept. A name that is in use is refused; that of a revoked key is free again. */
export async function createKey(store: Changing, name: string, limits: KeyLimits, nowMs: number): Promise<Secret> {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name) || name === "owner" || name === "dashboard")
    throw new MillraceError("invalid_request", `A key cannot be called ${JSON.stringify(name)}.`, {
      hint: "Use 1 to 64 letters, digits, dots, hyphens and underscores. `owner` and `dashboard` are taken.",
    });
  const { key, hashed } = newKey();
  const record: KeyRecord = { ...limits, ...hashed, id: randomUUID(), name, createdAtMs: nowMs };
  await store.change((keys) => {
    if (keys.some((other) => other.name === name && other.revokedAtMs === undefined))
      throw new MillraceError("invalid_request", `There is a key called ${name} already.`, {
        hint: "`millrace keys rotate` gives it a new value; `millrace keys revoke` ends it.",
      });
    return [...keys, record];
  });
  return key;
}

/** A new value for a key; the old one stops working. Its turns, limits and budget stay. */
export async function rotateKey(store: Changing, name: string): Promise<Secret> {
  const { key, hashed } = newKey();
  await change(store, name, (record) => ({ ...record, ...hashed }));
  return key;
}

/** Ends a key. The key is kept as revoked, so that no older copy makes it work again, and its name is free. */
export async function revokeKey(store: Changing, name: string, nowMs: number): Promise<void> {
  await change(store, name, (record) => ({ ...record, revokedAtMs: nowMs }));
}

function newKey(): { readonly key: Secret; readonly hashed: Pick<KeyRecord, "salt" | "hash"> } {
  const key = new Secret(`mrk_${randomBytes(32).toString("base64url")}`);
  const salt = randomBytes(16).toString("base64url");
  return { key, hashed: { salt, hash: hashKey(key, salt) } };
}

async function change(store: Changing, name: string, to: (record: KeyRecord) => KeyRecord): Promise<void> {
  await store.change((keys) => {
    const found = keys.find((key) => key.name === name && key.revokedAtMs === undefined);
    if (found === undefined)
      throw new MillraceError("invalid_request", `There is no key called ${JSON.stringify(name)}.`, {
        hint: "`millrace keys list` shows all keys.",
      });
    const changed = { ...to(found), revision: (found.revision ?? 0) + 1 };
    return keys.map((key) => (key === found ? changed : key));
  });
}
