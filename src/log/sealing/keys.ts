import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { remove } from "../../base/node/move-file.ts";
import { Secret } from "../../base/secret.ts";

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
export function open(key: KeyObject, bytes: Uint8Array, bound: string, beforeBytes = 0): Buffer | undefined {
  const box = bytes.subarray(beforeBytes);
  if (box.length < boxBytes) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(boundTo(bytes.subarray(0, beforeBytes), bound))
    .setAuthTag(box.subarray(-tagBytes));
  const content = decipher.update(box.subarray(nonceBytes, -tagBytes));
  try {
    decipher.final(); // holds nothing back, and checks the tag
    return content;
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
 * Source: docs/dev/wire/idempotent-streams.md, "Headers".
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

/**
 * A turn's own key, wrapped. The first byte names the keys that open it. 1: the gateway's key. 2: the client's key and, while the
 * turn runs, the gateway's key too, so that the turn can continue after a restart. 3: only the client's key, after the turn's end.
 */
const byGateway = 1;
const byBoth = 2;
const byClient = 3;

const wrapBytes = keyBytes + boxBytes;

export function wrapKey(
  turnKey: Uint8Array,
  id: string,
  gatewayKey: KeyObject,
  clientKey: KeyObject | undefined,
): Uint8Array {
  const gateway = seal(gatewayKey, turnKey, `gateway ${id}`);
  if (clientKey === undefined) return Buffer.concat([Buffer.of(byGateway), gateway]);
  const client = seal(deriveKey(clientKey, "client", id), turnKey, `client ${id}`);
  return Buffer.concat([Buffer.of(byBoth), client, gateway]);
}

/** The wrapped key after the turn's end; undefined if nothing changes. */
export function closeWrappedKey(wrapped: Uint8Array): Uint8Array | undefined {
  if (wrapped[0] !== byBoth) return undefined;
  return Buffer.concat([Buffer.of(byClient), wrapped.subarray(1, 1 + wrapBytes)]);
}

/** The turn's key for the gateway itself: to run the turn, or, where no client has sealed it, to show it. */
export function unwrapForGateway(
  wrapped: Uint8Array,
  id: string,
  gatewayKey: KeyObject,
  use: "run" | "show",
): KeyObject | undefined {
  const at = wrapped[0] === byGateway ? 1 : wrapped[0] === byBoth && use === "run" ? 1 + wrapBytes : undefined;
  return at === undefined ? undefined : opened(gatewayKey, wrapped.subarray(at, at + wrapBytes), `gateway ${id}`);
}

/** The turn's key, unwrapped with the client's key. Takes the same time if no client sealed the turn or there is no turn. */
export function unwrapForClient(
  wrapped: Uint8Array | undefined,
  id: string,
  clientKey: KeyObject,
): KeyObject | undefined {
  const sealed = wrapped !== undefined && (wrapped[0] === byBoth || wrapped[0] === byClient);
  const box = sealed ? wrapped.subarray(1, 1 + wrapBytes) : randomBytes(wrapBytes);
  return opened(deriveKey(clientKey, "client", id), box, `client ${id}`);
}

function opened(key: KeyObject, box: Uint8Array, bound: string): KeyObject | undefined {
  const turnKey = open(key, box, bound);
  return turnKey === undefined ? undefined : cipherKey(turnKey);
}

/**
 * The key that seals a gateway's log, read from its file. A missing file is created (0600, its folder 0700), with `known` in it if
 * that is given. Reads before it writes, so that a full or read-only disk costs no existing key.
 *
 * @throws MillraceError `degraded` when the file cannot be read or created, or holds something else. The file is never replaced: data
 * sealed under its key could not be read again.
 */
export async function openLogKey(path: string, known?: Secret): Promise<Secret> {
  return (await heldKey(path)) ?? (await makeKey(path, known ?? encodeKey(randomBytes(keyBytes))));
}

/** The key in the file; undefined where there is no file. */
async function heldKey(path: string): Promise<Secret | undefined> {
  try {
    const held = new Secret((await readFile(path, "utf8")).trim());
    parseKey(held);
    await bestEffort(chmod(path, 0o600)); // a read-only disk keeps its mode
    return held;
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new MillraceError("degraded", `The log's key (${path}) cannot be used.`, {
      hint: "Stop Millrace, put the right key back from a copy, and let only your user read it. Without that key the kept answers cannot be read.",
      cause,
    });
  }
}

async function makeKey(path: string, key: Secret): Promise<Secret> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (await writtenFirst(path, key)) return key;
  } catch (cause) {
    throw new MillraceError("degraded", `The log's key (${path}) cannot be made.`, {
      hint: "Free disk space, or make the folder writable.",
      cause,
    });
  }
  return (await heldKey(path)) ?? makeKey(path, key); // another process was first, and its file went away again
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** Whether the file was not there before. Two processes that start at once agree: one of them writes. */
async function writtenFirst(path: string, key: Secret): Promise<boolean> {
  const whole = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(whole, `${key.reveal()}\n`, { mode: 0o600, flag: "wx" });
    await link(whole, path); // all of it at once, or not at all
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    await bestEffort(remove(whole)); // also what a full disk took of it
  }
}
