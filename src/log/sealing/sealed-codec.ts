import { createHmac, hash, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { LogCodec, OutlineCodec, RecordPlace, SealedRecord, TurnCodec } from "../medium/codec.ts";
import { damagedLog } from "../medium/record-text.ts";
import { open, openChained, seal, sealChained } from "./box.ts";
import { cipherKey, deriveKey, keyBytes, parseKey } from "./keys.ts";
import { closeWrappedKey, unwrapForClient, unwrapForGateway, wrapKey } from "./wrapped-key.ts";

/** No turn has this id. It is opened in place of a missing turn, so that both cases take the same time. */
const noTurn = "turn_nobody" as TurnId;

/**
 * Seals a log under the gateway's key (32 bytes, base64url). Each turn has its own random key, which is stored wrapped. Headers and
 * records are AES-256-GCM. The tag of each record is part of what the next one is bound to, so the records are a chain. Values that are
 * searched for are stored as keyed digests.
 *
 * @throws MillraceError `invalid_request` when the key is not 32 bytes.
 */
export function sealedCodec(gatewayKey: Secret): LogCodec {
  const master = parseKey(gatewayKey);
  const wrappingKey = deriveKey(master, "wrap");
  const indexKey = deriveKey(master, "index");
  const labelKey = deriveKey(master, "label");
  const outlineKey = deriveKey(master, "outline");
  return {
    index: (value) => createHmac("sha256", indexKey).update(value).digest("base64url"),
    newTurn(turnId, clientKey) {
      const turnKey = randomBytes(keyBytes);
      const client = clientKey === undefined ? undefined : parseKey(clientKey);
      return {
        wrappedKey: wrapKey(turnKey, turnId, wrappingKey, client),
        codec: turnCodec(turnId, cipherKey(turnKey)),
      };
    },
    openTurn(row, access) {
      const wrapped = row?.wrappedKey;
      const turnId = row?.turnId ?? noTurn;
      const clientKey = access === "runner" ? undefined : access.clientKey;
      const use = access === "runner" ? "run" : "show";
      const turnKey =
        clientKey === undefined
          ? unwrapForGateway(wrapped ?? new Uint8Array(0), turnId, wrappingKey, use)
          : unwrapForClient(wrapped, turnId, parseKey(clientKey));
      return turnKey === undefined ? undefined : turnCodec(turnId, turnKey);
    },
    sealLabel: (turnId, text) => seal(labelKey, Buffer.from(text), `label ${turnId}`),
    openLabel({ turnId, label }) {
      const content = label.length === 0 ? undefined : open(labelKey, label, `label ${turnId}`);
      return content === undefined ? undefined : Buffer.from(content).toString("utf8");
    },
    outlines: (turnId) => outlineCodec(turnId, deriveKey(outlineKey, "outline", turnId)),
    closeKey: closeWrappedKey,
  };
}

function turnCodec(turnId: TurnId, turnKey: KeyObject): TurnCodec {
  const contentKey = deriveKey(turnKey, "content", turnId);
  let derivedRecordKey: KeyObject | undefined;
  const recordKey = () => (derivedRecordKey ??= deriveKey(turnKey, "record", turnId)); // who reads a header alone needs none
  const header = `header ${turnId}`;
  return {
    encodeHeader: (text) => seal(contentKey, Buffer.from(text), header),
    decodeHeader: (box) => openText(contentKey, box, header),
    encode(place, text, previousMac) {
      const chained = { bound: placeOf(turnId, place), previousTag: previousMac };
      const { payload, tag } = sealChained(recordKey(), text, chained);
      return { payload, mac: tag };
    },
    decode(row, previousMac) {
      const bound = placeOf(turnId, row);
      const content =
        openChained(recordKey(), { payload: row.payload, tag: row.mac }, { bound, previousTag: previousMac }) ??
        openOlderRecord({ contentKey, macKey: deriveKey(turnKey, "mac", turnId) }, { row, previousMac, bound });
      if (content === undefined) throw damagedLog();
      return Buffer.from(content).toString("utf8");
    },
  };
}

/** Not chained: each box is bound to its number, and the last one to the whole count by its own. */
function outlineCodec(turnId: TurnId, key: KeyObject): OutlineCodec {
  return {
    seal: (place, text) => seal(key, Buffer.from(text), `outline of ${placeOf(turnId, place)}`),
    open: (row) => openText(key, row.outline, `outline of ${placeOf(turnId, row)}`),
  };
}

function placeOf(turnId: TurnId, { seq, epoch, kind, atMs }: RecordPlace): string {
  return `record ${turnId} ${seq} ${epoch} ${kind} ${atMs}`;
}

/** A record of schema version 8 or older: a box with its tag, and an HMAC chained to the one of the record before. */
function openOlderRecord(
  { contentKey, macKey }: { readonly contentKey: KeyObject; readonly macKey: KeyObject },
  { row, previousMac, bound }: { readonly row: SealedRecord; readonly previousMac: Uint8Array; readonly bound: string },
): Uint8Array | undefined {
  const digest = hash("sha256", row.payload, "buffer");
  const chained = createHmac("sha256", macKey).update(previousMac).update(`${bound}\n`).update(digest).digest();
  const mac = chained.subarray(0, 16);
  return row.mac.length === mac.length && timingSafeEqual(mac, row.mac)
    ? open(contentKey, row.payload, bound)
    : undefined;
}

function openText(key: KeyObject, box: Uint8Array, bound: string): string {
  const content = open(key, box, bound);
  if (content === undefined) throw damagedLog();
  return Buffer.from(content).toString("utf8");
}
