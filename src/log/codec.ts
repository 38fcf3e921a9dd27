import type { TurnId } from "../base/ids.ts";
import type { EventRow, TurnRow } from "./medium.ts";

/** A record before it is sealed. */
export interface ClearRecord {
  readonly seq: number;
  readonly epoch: number;
  readonly kind: EventRow["kind"];
  readonly atMs: number;
  readonly text: string;
}

/** Turns one turn's records and header into bytes and back. */
export interface TurnCodec {
  encodeHeader(text: string): Uint8Array;
  /** Throws `internal` when the bytes were changed. */
  decodeHeader(header: Uint8Array): string;
  /** Seals a record and chains it to the one before, whose MAC is given (empty before the first). */
  encode(record: ClearRecord, previousMac: Uint8Array): EventRow;
  /** Opens a record that must follow the one whose MAC is given. Throws `internal` when anything was changed. */
  decode(row: EventRow, previousMac: Uint8Array): string;
}

/** How a log's bytes are made. */
export interface LogCodec {
  /** What a value is looked up by, when it must not stand in the store itself. */
  index(value: string): string;
  /** A key of its own for a new turn. */
  newTurn(turnId: TurnId): { readonly wrappedKey: Uint8Array; readonly codec: TurnCodec };
  /** Undefined when the row was sealed with a key that is not ours. */
  openTurn(row: TurnRow): TurnCodec | undefined;
}

const nothing = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const clearTurn: TurnCodec = {
  encodeHeader: (text) => encoder.encode(text),
  decodeHeader: (header) => decoder.decode(header),
  encode: ({ text, ...record }) => ({ ...record, payload: encoder.encode(text), mac: nothing }),
  decode: (row) => decoder.decode(row.payload),
};

/** Bytes as they are: for a log in memory. */
export const clearCodec: LogCodec = {
  index: (value) => value,
  newTurn: () => ({ wrappedKey: nothing, codec: clearTurn }),
  openTurn: () => clearTurn,
};
