import { randomBytes, randomUUID } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { hashKey, type KeyLimits, type KeyRecord } from "./key-record.ts";
import { changeKeys } from "./keys-file.ts";

/** Makes a key; only its hash is kept. A name that is in use is refused; that of a revoked key is free again. */
export function createKey(file: string, name: string, limits: KeyLimits, nowMs: number): Secret {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name) || name === "owner" || name === "dashboard")
    throw new MillraceError("invalid_request", `A key cannot be called ${JSON.stringify(name)}.`, {
      hint: "Use 1 to 64 letters, digits, dots, hyphens and underscores. `owner` and `dashboard` are taken.",
    });
  const key = new Secret(`mrk_${randomBytes(32).toString("base64url")}`);
  const salt = randomBytes(16).toString("base64url");
  const hash = hashKey(key, salt);
  const record: KeyRecord = { ...limits, id: randomUUID(), name, createdAtMs: nowMs, salt, hash };
  changeKeys(file, (keys) => {
    if (keys.some((other) => other.name === name && other.revokedAtMs === undefined))
      throw new MillraceError("invalid_request", `There is a key called ${name} already.`, {
        hint: "`millrace keys revoke` ends it. Then you can make a new one with this name.",
      });
    return [...keys, record];
  });
  return key;
}

/** Ends a key. Its record stays, so that the turns that it started keep its name; the name is free for a new key. */
export function revokeKey(file: string, name: string, nowMs: number): void {
  changeKeys(file, (keys) => {
    const found = keys.find((key) => key.name === name && key.revokedAtMs === undefined);
    if (found === undefined)
      throw new MillraceError("invalid_request", `There is no key called ${JSON.stringify(name)}.`, {
        hint: "`millrace keys` shows all keys.",
      });
    return keys.map((key) => (key === found ? { ...found, revokedAtMs: nowMs } : key));
  });
}
