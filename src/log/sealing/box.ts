import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";

const nonceBytes = 12;
const tagBytes = 16;

/** Bytes that a box adds to its content. */
export const boxBytes = nonceBytes + tagBytes;

/** How many nonces are drawn at a time: one by one, drawing them took a twentieth of an append. */
const noncesDrawn = 256;

/** Random nonces, each given once. */
export class Nonces {
  #drawn: Uint8Array = new Uint8Array(0);
  #used = 0;

  next(): Uint8Array {
    if (this.#used === this.#drawn.length) {
      this.#drawn = randomBytes(nonceBytes * noncesDrawn);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += nonceBytes;
    return this.#drawn.subarray(from, this.#used);
  }
}

/** AES-256-GCM under a random nonce: nonce, ciphertext, tag. At most 2^32 boxes a key. */
export function seal(
  key: KeyObject,
  content: Uint8Array,
  bound: string,
  nonce: Uint8Array = randomBytes(nonceBytes),
): Uint8Array {
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(bound));
  const sealed = cipher.update(content);
  cipher.final(); // holds nothing back
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]);
}

/** The content of a box made by `seal`. Undefined if the key is another, or if anything was changed, `bound` included. */
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
