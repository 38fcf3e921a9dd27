import { MillraceError } from "../../base/errors.ts";
import { isTerminal, type TurnEventBody } from "../event.ts";

/** The extra fields of a terminal record: the number of records in the log with it, and the chain up to it. */
export interface EndMark {
  readonly count: number;
  /** MAC of the record before it, hex; empty where nothing is chained. */
  readonly digest: string;
}

interface StoredRecord {
  readonly body: TurnEventBody;
  readonly end?: EndMark;
}

/** JSON of an event; the terminal one with its end mark. */
export function encodeRecord(body: TurnEventBody, seq: number, previousMac: Uint8Array): string {
  const stored: StoredRecord = isTerminal(body) ? { body, end: { count: seq, digest: hex(previousMac) } } : { body };
  return JSON.stringify(stored);
}

/** The event of a record. Throws `internal` when a terminal event does not count and chain the records before it. */
export function decodeRecord(text: string, seq: number, previousMac: Uint8Array): TurnEventBody {
  const { body, end } = JSON.parse(text) as StoredRecord; // written by encodeRecord; the medium's codec vouches for it
  if (isTerminal(body) && (end?.count !== seq || end.digest !== hex(previousMac))) throw damagedLog();
  return body;
}

/** The error for a log whose bytes are not those that were written. None of it is shown. */
export function damagedLog(cause?: unknown): MillraceError {
  return new MillraceError("internal", "The stored answer was changed or damaged, so it is not shown.", {
    hint: "Send the request again under a new idempotency key.",
    cause,
  });
}

function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
