import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";

export const keyBytes = 32;

/** 32 bytes for one purpose, from a key. `salt` ties them to one turn. */
export function deriveKey(key: KeyObject, purpose: string, salt = ""): KeyObject {
  return cipherKey(new Uint8Array(hkdfSync("sha256", key, salt, `millrace/log/${purpose}/v1`, keyBytes)));
}

/** Bytes as a key. A cipher takes it four times as fast as the bare bytes (measured on Node 24). */
export function cipherKey(bytes: Uint8Array): KeyObject {
  return createSecretKey(bytes);
}

/**
 * A key written as 43 characters of base64url, strictly: the same bytes have one spelling. Throws
 * `invalid_request` otherwise, since Node's own decoder accepts four spellings.
 * Source: docs/wire/idempotent-streams.md, "Headers".
 */
export function parseKey(key: Secret): KeyObject {
  const text = key.reveal();
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length === keyBytes && bytes.toString("base64url") === text) return cipherKey(bytes);
  throw new MillraceError("invalid_request", "The encryption key is not 32 bytes in base64url without padding.", {
    hint: "Send 43 characters, as `crypto.randomBytes(32).toString('base64url')` makes them.",
  });
}

/** A key as `parseKey` reads it. */
export function encodeKey(bytes: Uint8Array): Secret {
  return new Secret(Buffer.from(bytes).toString("base64url"));
}
