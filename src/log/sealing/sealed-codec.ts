import { createHmac, hash, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { ClearRecord, LogCodec, OutlineCodec, SealedRecord, TurnCodec } from "../medium/codec.ts";
import { damagedLog } from "../medium/record-text.ts";
import { Nonces, open, seal } from "./box.ts";
import { cipherKey, deriveKey, keyBytes, parseKey } from "./keys.ts";
import { closeWrappedKey, unwrapForClient, unwrapForGateway, wrapKey } from "./wrapped-key.ts";

/** Bytes of a record's MAC. Source: docs/wire/idempotent-streams.md, "Sealing and tickets". */
const macBytes = 16;

/** No turn has this id. It is opened in place of a missing turn, so that both cases take the same time. */
const noTurn = "turn_nobody" as TurnId;

/**
 * Seals a log under the gateway's key (32 bytes, base64url). Each turn has its own random key, which is stored wrapped. Headers
 * and records are AES-256-GCM, records chained by HMAC-SHA256. Values that are searched for are stored as keyed digests.
 *
 * @throws MillraceError `invalid_request` when the key is not 32 bytes.
 */
export function sealedCodec(gatewayKey: Secret): LogCodec {
  const master = parseKey(gatewayKey);
  const wrappingKey = deriveKey(master, "wrap");
  const indexKey = deriveKey(master, "index");
  const labelKey = deriveKey(master, "label");
  const outlineKey = deriveKey(master, "outline");
  const nonces = new Nonces();
  return {
    index: (value) => createHmac("sha256", indexKey).update(value).digest("base64url"),
    newTurn(turnId, clientKey) {
      const turnKey = randomBytes(keyBytes);
      const client = clientKey === undefined ? undefined : parseKey(clientKey);
      return {
        wrappedKey: wrapKey(turnKey, turnId, wrappingKey, client),
        codec: turnCodec(turnId, cipherKey(turnKey), nonces),
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
      return turnKey === undefined ? undefined : turnCodec(turnId, turnKey, nonces);
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

function turnCodec(turnId: TurnId, turnKey: KeyObject, nonces: Nonces): TurnCodec {
  const contentKey = deriveKey(turnKey, "content", turnId);
  let derivedMacKey: KeyObject | undefined;
  const macKey = () => (derivedMacKey ??= deriveKey(turnKey, "mac", turnId)); // who reads a header alone needs none
  const header = `header ${turnId}`;
  return {
    encodeHeader: (text) => seal(contentKey, Buffer.from(text), header),
    decodeHeader: (box) => openText(contentKey, box, header),
    encode({ text, ...record }, previousMac) {
      const payload = seal(contentKey, Buffer.from(text), placeOf(turnId, record), nonces.next());
      return { ...record, payload, mac: macOf(macKey(), turnId, { ...record, payload }, previousMac) };
    },
    decode(row, previousMac) {
      const mac = macOf(macKey(), turnId, row, previousMac);
      if (row.mac.length !== mac.length || !timingSafeEqual(mac, row.mac)) throw damagedLog();
      return openText(contentKey, row.payload, placeOf(turnId, row));
    },
  };
}

/** Not chained: each box is bound to its number, and the last one to the whole count by its own. */
function outlineCodec(turnId: TurnId, key: KeyObject): OutlineCodec {
  return {
    seal: (record) => seal(key, Buffer.from(record.text), `outline of ${placeOf(turnId, record)}`),
    open: (row) => openText(key, row.outline, `outline of ${placeOf(turnId, row)}`),
  };
}

type RecordPlace = Omit<ClearRecord, "text">;

/** The place that a record is bound to: the record opens nowhere else. */
function placeOf(turnId: TurnId, { seq, epoch, kind, atMs }: RecordPlace): string {
  return `record ${turnId} ${seq} ${epoch} ${kind} ${atMs}`;
}

function macOf(key: KeyObject, turnId: TurnId, row: Omit<SealedRecord, "mac">, previousMac: Uint8Array): Uint8Array {
  const digest = hash("sha256", row.payload, "buffer");
  const place = `${placeOf(turnId, row)}\n`;
  return createHmac("sha256", key).update(previousMac).update(place).update(digest).digest().subarray(0, macBytes);
}

function openText(key: KeyObject, box: Uint8Array, bound: string): string {
  const content = open(key, box, bound);
  if (content === undefined) throw damagedLog();
  return Buffer.from(content).toString("utf8");
}
