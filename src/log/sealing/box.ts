import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";

const nonceBytes = 12;
const tagBytes = 16;

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

/** AES-256-GCM under a random nonce: nonce, ciphertext, tag. At most 2^32 boxes a key. */
export function seal(key: KeyObject, content: Uint8Array, bound: string): Uint8Array {
  const { nonce, sealed, tag } = closed(key, content, Buffer.from(bound));
  return Buffer.concat([nonce, sealed, tag]);
}

/** The content of a box made by `seal`. Undefined if the key is another, or if anything was changed, `bound` included. */
export function open(key: KeyObject, box: Uint8Array, bound: string): Uint8Array | undefined {
  if (box.length < boxBytes) return undefined;
  return opened(key, { payload: box.subarray(0, -tagBytes), tag: box.subarray(-tagBytes) }, Buffer.from(bound));
}

/** A box in two parts. The next box of its chain is bound to its tag. */
export interface ChainedBox {
  /** Nonce and ciphertext. */
  readonly payload: Uint8Array;
  readonly tag: Uint8Array;
}

/** The place of a box in its chain. */
export interface ChainPlace {
  readonly bound: string;
  /** Of the box before; empty for the first. */
  readonly previousTag: Uint8Array;
}

/** As `seal`, and bound to all boxes before it. */
export function sealChained(key: KeyObject, content: string, place: ChainPlace): ChainedBox {
  const { nonce, sealed, tag } = closed(key, content, boundTo(place));
  return { payload: Buffer.concat([nonce, sealed]), tag };
}

/** The content of a box made by `sealChained`; undefined as from `open`. */
export function openChained(key: KeyObject, box: ChainedBox, place: ChainPlace): Uint8Array | undefined {
  if (box.payload.length < nonceBytes || box.tag.length !== tagBytes) return undefined;
  return opened(key, box, boundTo(place));
}

/** Starts with the length of the tag, so no two places give the same bytes. */
function boundTo({ bound, previousTag }: ChainPlace): Uint8Array {
  return Buffer.concat([Buffer.of(previousTag.length), previousTag, Buffer.from(bound)]);
}

function closed(key: KeyObject, content: Uint8Array | string, bound: Uint8Array) {
  const nonce = newNonce();
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(bound);
  const sealed = typeof content === "string" ? cipher.update(content, "utf8") : cipher.update(content);
  cipher.final(); // holds nothing back
  return { nonce, sealed, tag: cipher.getAuthTag() };
}

function opened(key: KeyObject, { payload, tag }: ChainedBox, bound: Uint8Array): Uint8Array | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key, payload.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(bound)
    .setAuthTag(tag);
  const content = decipher.update(payload.subarray(nonceBytes));
  try {
    return Buffer.concat([content, decipher.final()]);
  } catch {
    return undefined; // the tag does not match; nothing of the content is shown
  }
}
