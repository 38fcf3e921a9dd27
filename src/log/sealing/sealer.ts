import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../base/secret.ts";
import { damagedLog, type Entry, type Row } from "../rows.ts";
import {
  cipherKey,
  closeWrappedKey,
  deriveKey,
  keyBytes,
  open,
  parseKey,
  seal,
  tagBytes,
  unwrapForClient,
  unwrapForGateway,
  wrapKey,
} from "./keys.ts";

/** The right to open a row: its client's key, or the gateway's own right to continue a running turn. */
export type Access = { readonly clientKey?: Secret | undefined } | "runner";

/** The parts of a row's `meta` that the gateway's key seals. */
type LabelMember = "label" | "outline";

/** The columns that a proof authenticates. `caller` is in `meta`. */
export type ProvenRow = Pick<
  Row,
  "id" | "kind" | "createdAtMs" | "epoch" | "last" | "open" | "owner" | "expiresAtMs" | "tags" | "meta"
>;

/** No row has this id. It is opened in place of a missing row, so that both cases take the same time. */
const nobody = "turn_nobody";

/** The "tag of the entry before" of a row's first entry: zeros. */
export const noTag: Uint8Array = new Uint8Array(tagBytes);

/**
 * Seals a log under the gateway's key (32 bytes, base64url). Each row has its own random key, which is stored wrapped in `meta.key`
 * (base64). Heads and entries are AES-256-GCM. Values that are searched for are stored as keyed digests.
 *
 * @throws MillraceError `invalid_request` when the key is not 32 bytes.
 */
export class Sealer {
  readonly #wrappingKey: KeyObject;
  readonly #indexKey: KeyObject;
  readonly #labelKey: KeyObject;
  readonly #proofKey: KeyObject;

  constructor(gatewayKey: Secret) {
    const master = parseKey(gatewayKey);
    this.#wrappingKey = deriveKey(master, "wrap");
    this.#indexKey = deriveKey(master, "index");
    this.#labelKey = deriveKey(master, "label");
    this.#proofKey = deriveKey(master, "proof");
  }

  /** The lookup key for values that must not be in the store in the clear. */
  digest(...values: readonly string[]): string {
    return createHmac("sha256", this.#indexKey).update(JSON.stringify(values)).digest("base64url");
  }

  /** Makes the key of a new row. If the client brought a key, only that key opens the row after its end. */
  newBox(id: string, clientKey: Secret | undefined): { readonly key: string; readonly box: RowBox } {
    const own = randomBytes(keyBytes);
    const client = clientKey === undefined ? undefined : parseKey(clientKey);
    const key = Buffer.from(wrapKey(own, id, this.#wrappingKey, client)).toString("base64");
    return { key, box: new RowBox(id, cipherKey(own)) };
  }

  /** Undefined when the row was sealed with another key. Takes as long for a row that is not there. */
  open(row: Pick<Row, "id" | "meta"> | undefined, access: Access): RowBox | undefined {
    const id = row?.id ?? nobody;
    const wrapped = row === undefined ? undefined : keyOf(row);
    const clientKey = access === "runner" ? undefined : access.clientKey;
    const own =
      clientKey === undefined
        ? unwrapForGateway(wrapped ?? noTag, id, this.#wrappingKey, access === "runner" ? "run" : "show")
        : unwrapForClient(wrapped, id, parseKey(clientKey));
    return own === undefined ? undefined : new RowBox(id, own);
  }

  /** The wrapped key without the gateway's part, for the end of a turn; undefined if nothing changes. */
  closedKey(row: Pick<Row, "meta">): string | undefined {
    const closed = closeWrappedKey(keyOf(row));
    return closed && Buffer.from(closed).toString("base64");
  }

  /** Seals what the gateway shows of a turn in lists, also of one that its client sealed, for a member of its row's `meta`; base64. */
  sealLabel(id: string, member: LabelMember, text: string): string {
    return Buffer.from(seal(this.#labelKey, text, `${member} ${id}`)).toString("base64");
  }

  /** Undefined if there is none, if it was written for another row or member, or if the gateway's key has changed. */
  openLabel({ id, meta }: Pick<Row, "id" | "meta">, member: LabelMember): string | undefined {
    const sealed = meta[member];
    if (typeof sealed !== "string") return undefined;
    const content = open(this.#labelKey, Buffer.from(sealed, "base64"), `${member} ${id}`);
    return content?.toString("utf8");
  }

  /** Authenticates the columns that decide who may read a row, and how much of it there is. */
  prove({ id, kind, createdAtMs, epoch, last, open: isOpen, owner, expiresAtMs, tags, meta }: ProvenRow): Uint8Array {
    const columns = [id, kind, createdAtMs, meta["caller"], epoch, last, isOpen, owner, expiresAtMs ?? null, tags];
    return createHmac("sha256", this.#proofKey).update(JSON.stringify(columns)).digest();
  }

  /** A row with its proof. */
  proven(row: Omit<Row, "proof">): Row {
    return { ...row, proof: this.prove(row) };
  }

  isProven(row: Row): boolean {
    const proof = this.prove(row);
    return row.proof.length === proof.length && timingSafeEqual(row.proof, proof);
  }
}

/** Seals and opens the parts of one row. */
export class RowBox {
  readonly #id: string;
  readonly #own: KeyObject;
  #contentKey: KeyObject | undefined;
  #entryKey: KeyObject | undefined;

  constructor(id: string, own: KeyObject) {
    this.#id = id;
    this.#own = own;
  }

  /** `place` names the part: a text opens nowhere else. */
  sealText(place: string, text: string): Uint8Array {
    return seal(this.#keyOfTexts(), text, `${place} ${this.#id}`);
  }

  /** Throws `internal` when the bytes were changed. */
  openText(place: string, bytes: Uint8Array): string {
    const content = open(this.#keyOfTexts(), bytes, `${place} ${this.#id}`);
    if (content === undefined) throw damagedLog();
    return content.toString("utf8");
  }

  /** Seals an entry and chains it to the one before, whose tag (`tagOf`) is given. */
  sealEntry(seq: number, text: string, previousTag: Uint8Array): Uint8Array {
    return seal(this.#keyOfEntries(), text, `entry ${this.#id} ${seq}`, previousTag);
  }

  /** Opens an entry that must follow the one whose tag is given, if one is. Throws `internal` when anything was changed. */
  openEntry({ seq, bytes }: Entry, previousTag: Uint8Array | undefined): string {
    const follows = previousTag === undefined || Buffer.compare(bytes.subarray(0, tagBytes), previousTag) === 0;
    const content = follows ? open(this.#keyOfEntries(), bytes, `entry ${this.#id} ${seq}`, tagBytes) : undefined;
    if (content === undefined) throw damagedLog();
    return content.toString("utf8");
  }

  /** Derived at its first use: a list opens rows and reads neither heads nor entries. */
  #keyOfTexts(): KeyObject {
    return (this.#contentKey ??= deriveKey(this.#own, "content", this.#id));
  }

  /** Derived at its first use, because reading a head alone needs none. */
  #keyOfEntries(): KeyObject {
    return (this.#entryKey ??= deriveKey(this.#own, "entry", this.#id));
  }
}

/** The tag of a sealed entry: the next one is chained to it. */
export function tagOf(entry: Uint8Array): Uint8Array {
  return entry.subarray(-tagBytes);
}

function keyOf({ meta }: Pick<Row, "meta">): Uint8Array {
  return Buffer.from(String(meta["key"]), "base64");
}
