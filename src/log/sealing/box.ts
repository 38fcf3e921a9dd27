import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";

const nonceBytes = 12;
/** Length of the tag at the end of each box. */
export const tagBytes = 16;

/** Bytes that a box adds to its content. */
export const boxBytes = nonceBytes + tagBytes;

/** How many nonces are drawn at a time: one by one, drawing them took a twentieth of an append, and of a new turn. */
const noncesDrawn = 256;
let drawn: Uint8Array = new Uint8Array(0);
let used = 0;

/** A random nonce that was never given before. */
function newNonce(): Uint8Array {
  if (used === drawn.length) {
    drawn = randomBytes(nonceBytes * noncesDrawn);
    used = 0;
  }
  used += nonceBytes;
  return drawn.subarray(used - nonceBytes, used);
}

/** AES-256-GCM under a random nonce: nonce, ciphertext, tag. At most 2^32 boxes a key. `before` stands before the box, and is bound to it. */
export function seal(
  key: KeyObject,
  content: Uint8Array | string,
  bound: string,
  before: Uint8Array = nothing,
): Uint8Array {
  const nonce = newNonce();
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(before, bound));
  const sealed = typeof content === "string" ? cipher.update(content, "utf8") : cipher.update(content);
  cipher.final(); // holds nothing back
  return Buffer.concat([before, nonce, sealed, cipher.getAuthTag()]);
}

/** The content of a box made by `seal`. Undefined if the key is another, or if anything was changed, `bound` and what is before it included. */
export function open(key: KeyObject, bytes: Uint8Array, bound: string, beforeBytes = 0): Uint8Array | undefined {
  const box = bytes.subarray(beforeBytes);
  if (box.length < boxBytes) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(boundTo(bytes.subarray(0, beforeBytes), bound))
    .setAuthTag(box.subarray(-tagBytes));
  const content = decipher.update(box.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([content, decipher.final()]);
  } catch {
    return undefined; // the tag does not match; nothing of the content is shown
  }
}

const nothing: Uint8Array = new Uint8Array(0);

/** A `before` that is not empty comes first, after its length, so no two pairs give the same bytes. */
function boundTo(before: Uint8Array, bound: string): Uint8Array {
  if (before.length === 0) return Buffer.from(bound);
  return Buffer.concat([Buffer.of(before.length), before, Buffer.from(bound)]);
}
