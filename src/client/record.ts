/** What kind of message a number was given to. */
export type OutgoingKind = "request" | "tool_result" | "close" | "abort";

/** A numbered message that the server has not acknowledged. `payload` is its protobuf bytes in base64. */
export interface Outgoing {
  readonly seqno: number;
  readonly kind: OutgoingKind;
  readonly payload: string;
}

/** A tool call that was handed to the application and has no result yet. */
export interface Effect {
  readonly callId: string;
  readonly eventId: string;
}

/**
 * All that a client must keep to go on with a stream after a crash. Written before what it describes happens: a number
 * is stored before it is sent, an effect before it is handed over. Source: facts/idempotent-streams.md, A6 and A11.
 */
export interface StreamRecord {
  readonly version: 1;
  /** Names the stream; a UUID. */
  readonly streamKey: string;
  /** 32 random bytes, base64url without padding: seals the server's copy of the stream. */
  readonly encryptionKey: string;
  /** Whether the server ever welcomed it: from then on every attach resumes, and never creates. */
  readonly created: boolean;
  /** The low-water mark: every event up to it was applied, and no effect before it is unfinished. "0" before the first. */
  readonly cursor: string;
  /** The last event handed to the application; later than `cursor` while an effect holds that back. */
  readonly surfaced: string;
  /** Digest over the events up to `cursor` and up to `surfaced`, base64; empty before the first. */
  readonly cursorChain: string;
  readonly surfacedChain: string;
  /** Events surfaced so far. */
  readonly count: number;
  readonly nextSeqno: number;
  readonly unacked: readonly Outgoing[];
  readonly effects: readonly Effect[];
  /** Epoch ms by the server's clock after which it keeps nothing; undefined before the first welcome. */
  readonly expiresAtMs: number | undefined;
  /** The server's clock minus ours, ms. */
  readonly clockOffsetMs: number;
  readonly createdAtMs: number;
  /** The application's own, such as which conversation the stream belongs to. Plain JSON. */
  readonly label: string;
}

/** The cursor before the first event. */
export const beforeFirst = "0";

export function newRecord(
  ids: { readonly streamKey: string; readonly encryptionKey: string },
  nowMs: number,
  label: string,
): StreamRecord {
  return {
    version: 1,
    ...ids,
    created: false,
    cursor: beforeFirst,
    surfaced: beforeFirst,
    cursorChain: "",
    surfacedChain: "",
    count: 0,
    nextSeqno: 0,
    unacked: [],
    effects: [],
    expiresAtMs: undefined,
    clockOffsetMs: 0,
    createdAtMs: nowMs,
    label,
  };
}

/** Base64url without padding, as the key header wants it: 43 characters for 32 bytes. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
