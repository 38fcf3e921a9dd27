import type { TurnId } from "../../base/ids.ts";
import type { Secret } from "../../base/secret.ts";
import type { EventRow, TurnRow } from "./medium.ts";

/** What a record is bound to: it opens nowhere else. */
export type RecordPlace = Pick<EventRow, "seq" | "epoch" | "kind" | "atMs">;

/** A record as stored, without its outline. */
export type SealedRecord = Omit<EventRow, "outline">;

/** Turns one turn's records and header into bytes and back. */
export interface TurnCodec {
  encodeHeader(text: string): Uint8Array;
  /** Throws `internal` when the bytes were changed. */
  decodeHeader(header: Uint8Array): string;
  /** Seals the text of a record and chains it to the one before, whose MAC is given (empty before the first). */
  encode(place: RecordPlace, text: string, previousMac: Uint8Array): Pick<EventRow, "payload" | "mac">;
  /** Opens a record that must follow the one whose MAC is given. Throws `internal` when anything was changed. */
  decode(row: SealedRecord, previousMac: Uint8Array): string;
}

/** Seals the gateway's own outline of each event of a turn that its client sealed. An outline is bound to the event's place. */
export interface OutlineCodec {
  /** `text` is the outline, not the event. */
  seal(place: RecordPlace, text: string): Uint8Array;
  /** Throws `internal` if any part of it, or its place, was changed. */
  open(row: EventRow): string;
}

/** The right to open a turn: its client's key, or the gateway's own right to continue a running turn. */
export type Access = { readonly clientKey: Secret | undefined } | "runner";

/** How a log's bytes are made. */
export interface LogCodec {
  /** The lookup key for a value that must not be in the store in the clear. */
  index(value: string): string;
  /** Makes the key of a new turn. If the client brought a key, only that key opens the turn after its end. */
  newTurn(
    turnId: TurnId,
    clientKey: Secret | undefined,
  ): { readonly wrappedKey: Uint8Array; readonly codec: TurnCodec };
  /** Seals the label of a turn that its client sealed: the facts that the gateway may still show. */
  sealLabel(turnId: TurnId, text: string): Uint8Array;
  /** Undefined if there is none, or if the gateway's key has changed. */
  openLabel(row: Pick<TurnRow, "turnId" | "label">): string | undefined;
  outlines(turnId: TurnId): OutlineCodec;
  /** Undefined when the row was sealed with another key. Takes as long for a row that is not there. */
  openTurn(row: Pick<TurnRow, "turnId" | "wrappedKey"> | undefined, access: Access): TurnCodec | undefined;
  /** The wrapped key without the gateway's part, for the end of a turn; undefined if nothing changes. */
  closeKey(wrappedKey: Uint8Array): Uint8Array | undefined;
}

const nothing = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const clearTurn: TurnCodec = {
  encodeHeader: (text) => encoder.encode(text),
  decodeHeader: (header) => decoder.decode(header),
  encode: (_place, text) => ({ payload: encoder.encode(text), mac: nothing }),
  decode: (row) => decoder.decode(row.payload),
};

const clearOutlines: OutlineCodec = {
  seal: (_place, text) => encoder.encode(text),
  open: ({ outline }) => decoder.decode(outline),
};

/** Bytes as they are: for a log in memory. */
export const clearCodec: LogCodec = {
  index: (value) => value,
  newTurn: () => ({ wrappedKey: nothing, codec: clearTurn }),
  sealLabel: (_turnId, text) => encoder.encode(text),
  openLabel: ({ label }) => (label.length === 0 ? undefined : decoder.decode(label)),
  outlines: () => clearOutlines,
  openTurn: (row) => (row === undefined ? undefined : clearTurn),
  closeKey: () => undefined,
};
