import type { RecordKey } from "../link/web-platform.ts";
import type { StreamRecord } from "./record.ts";
import { unreadableRecord } from "./record-store.ts";

/**
 * The form of a record at rest: `MRSR`, a version byte, the generation (8 bytes, big-endian), a random nonce (12), then AES-256-GCM
 * over its JSON. Everything before the nonce and the stream's key are authenticated too, so that neither another stream's
 * record nor an older one passes for this one. Source: docs/dev/wire/idempotent-streams.md, "Sealing and tickets".
 */
const magic = new TextEncoder().encode("MRSR");
const formatVersion = 1;
const headerBytes = magic.length + 1 + 8;
const nonceBytes = 12;
const tagBytes = 16;

/** Why a sealed record cannot be trusted, in words for `damagedRecord`. */
export class UntrustedRecord extends Error {
  override readonly name = "UntrustedRecord";
}

export interface OpenedRecord {
  readonly record: StreamRecord;
  readonly generation: number;
}

/** `generation` grows with every save of a stream. */
export async function sealRecord(
  key: RecordKey,
  record: StreamRecord,
  generation: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const header = headerOf(generation);
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const plain = new TextEncoder().encode(JSON.stringify(record));
  const sealed = await crypto.subtle.encrypt(algorithm(nonce, header, record.streamKey), key, plain);
  const bytes = new Uint8Array(headerBytes + nonceBytes + sealed.byteLength);
  bytes.set(header);
  bytes.set(nonce, headerBytes);
  bytes.set(new Uint8Array(sealed), headerBytes + nonceBytes);
  return bytes;
}

/**
 * The record of this stream. `atLeast`: the generation that is known to have been saved.
 *
 * @throws UntrustedRecord for bytes that were changed, cut short, swapped with another stream's or replaced by an older copy.
 */
export async function openRecord(
  key: RecordKey,
  bytes: Uint8Array<ArrayBuffer>,
  { streamKey, atLeast }: { readonly streamKey: string; readonly atLeast: number },
): Promise<OpenedRecord> {
  if (bytes.length < headerBytes + nonceBytes + tagBytes) throw new UntrustedRecord("it was cut short");
  if (magic.some((byte, i) => bytes[i] !== byte)) throw new UntrustedRecord("it is not a record of a stream");
  if (bytes[magic.length] !== formatVersion)
    throw new UntrustedRecord(`its form has version ${bytes[magic.length]}, this is ${formatVersion}`);
  const header = bytes.slice(0, headerBytes);
  const nonce = bytes.slice(headerBytes, headerBytes + nonceBytes);
  let plain: ArrayBuffer;
  try {
    const sealed = bytes.slice(headerBytes + nonceBytes);
    plain = await crypto.subtle.decrypt(algorithm(nonce, header, streamKey), key, sealed);
  } catch (error) {
    throw new UntrustedRecord("it was changed, belongs to another stream, or its key is another one", { cause: error });
  }
  const generation = Number(new DataView(header.buffer).getBigUint64(magic.length + 1));
  if (generation < atLeast) throw new UntrustedRecord("it is an older copy of what was saved last");
  // The seal proves that sealRecord wrote it.
  return { record: JSON.parse(new TextDecoder().decode(plain)) as StreamRecord, generation };
}

/** The record of this stream for an onlooker, who does not mind an older copy. Throws `unreadableRecord()`. */
export async function peekRecord(
  key: RecordKey,
  bytes: Uint8Array<ArrayBuffer>,
  streamKey: string,
): Promise<StreamRecord> {
  try {
    return (await openRecord(key, bytes, { streamKey, atLeast: 0 })).record;
  } catch (error) {
    throw error instanceof UntrustedRecord ? unreadableRecord(error) : error;
  }
}

/** A key for records from 32 bytes. Throws RangeError for another length. */
export async function importRecordKey(bytes: Uint8Array<ArrayBuffer>): Promise<RecordKey> {
  if (bytes.length !== 32) throw new RangeError("a key for records has 32 bytes");
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

function headerOf(generation: number): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(headerBytes);
  header.set(magic);
  header[magic.length] = formatVersion;
  new DataView(header.buffer).setBigUint64(magic.length + 1, BigInt(generation));
  return header;
}

function algorithm(nonce: Uint8Array<ArrayBuffer>, header: Uint8Array<ArrayBuffer>, streamKey: string) {
  const name = new TextEncoder().encode(streamKey);
  const additionalData = new Uint8Array(header.length + name.length);
  additionalData.set(header);
  additionalData.set(name, header.length);
  return { name: "AES-GCM", iv: nonce, additionalData, tagLength: tagBytes * 8 };
}
