import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";

const nonceBytes = 12;
const tagBytes = 16;

/** What a box adds to what it holds. */
export const boxBytes = nonceBytes + tagBytes;

/** AES-256-GCM under a random nonce: nonce, ciphertext, tag. At most 2^32 boxes a key. */
export function seal(key: KeyObject, content: Uint8Array, bound: string): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(bound));
  return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** What `seal` put in; undefined when the key is another, or anything was changed, `bound` included. */
export function open(key: KeyObject, box: Uint8Array, bound: string): Uint8Array | undefined {
  if (box.length < boxBytes) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(bound))
    .setAuthTag(box.subarray(-tagBytes));
  const content = decipher.update(box.subarray(nonceBytes, -tagBytes));
  try {
    return Buffer.concat([content, decipher.final()]);
  } catch {
    return undefined; // the tag does not match; nothing of the content is shown
  }
}
