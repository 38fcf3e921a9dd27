/** The kind of message that a number belongs to. */
export type OutgoingKind = "request" | "tool_result" | "close" | "abort";

/** A numbered message that the server has not acknowledged. `payload` is its protobuf bytes in base64. */
export interface OutgoingMessage {
  readonly seqno: number;
  readonly kind: OutgoingKind;
  readonly payload: string;
}

/** A place in the stream's log, with the digest and the count of the events up to it. */
export interface Mark {
  readonly eventId: string;
  /** The chain's head at this event, base64; "" before the first. */
  readonly chain: string;
  /** Events up to and with this one. */
  readonly count: number;
}

/** Before the first event. */
export const startMark: Mark = { eventId: "0", chain: "", count: 0 };

/**
 * A tool call that the application was handed. `started` is stored before the tool runs and `finished` together with
 * its result, so that after a crash a call that is only `started` is known to have an unknown outcome.
 */
export interface KnownCall {
  readonly callId: string;
  readonly eventId: string;
  readonly state: "handed" | "started" | "finished";
  /** The event before the call: as far as the cursor may go while the call is open. */
  readonly before: Mark;
}

/**
 * The data that a client must keep to continue a stream after a crash. It is written before the action that it describes: a number is
 * stored before it is sent, a tool is `started` before it runs. Source: docs/dev/wire/idempotent-streams.md, "Client record", "Hazards".
 */
export interface StreamRecord {
  readonly version: 1;
  /** Names the stream; a UUID. */
  readonly streamKey: string;
  /** 32 random bytes, base64url without padding: seals the server's copy of the stream, and proves the ownership. */
  readonly encryptionKey: string;
  /** Whether the server ever welcomed it: from then on every attach resumes, and never creates. */
  readonly created: boolean;
  /** The low-water mark: every event up to it was applied, and no tool call before it is open. */
  readonly cursor: Mark;
  /** The last event that was applied; later than `cursor` while a tool call holds that back. */
  readonly applied: Mark;
  readonly nextSeqno: number;
  /**
   * Numbers from here on were given without a connection, so no server can have them. If a server has one, it knows a later record
   * than this. Undefined in a record of an older build: `nextSeqno` then.
   */
  readonly sentBelow: number | undefined;
  readonly unacked: readonly OutgoingMessage[];
  /** Calls after `cursor`, in order. */
  readonly calls: readonly KnownCall[];
  /** Authority for the next attach, base64; undefined before the first welcome. */
  readonly ticket: string | undefined;
  /** The server's count of attaches at the last welcome; it only grows. */
  readonly epoch: number;
  /** By this machine's clock, epoch ms. */
  readonly createdAtMs: number;
  /** The application's own, such as which conversation the stream belongs to. */
  readonly label: string;
}

/** A stream that nothing was given to yet. */
export function newRecord(
  ids: { readonly streamKey: string; readonly encryptionKey: string },
  nowMs: number,
  label: string,
): StreamRecord {
  return {
    version: 1,
    ...ids,
    created: false,
    cursor: startMark,
    applied: startMark,
    nextSeqno: 0,
    sentBelow: 0,
    unacked: [],
    calls: [],
    ticket: undefined,
    epoch: 0,
    createdAtMs: nowMs,
    label,
  };
}

const digits = /^\d+$/;

/** Whether one event comes after another. Ids are ordered as text; plain numbers, as original servers have them, as numbers. */
export function isAfter(eventId: string, other: string): boolean {
  if (digits.test(eventId) && digits.test(other) && eventId.length !== other.length)
    return eventId.length > other.length;
  return eventId > other;
}
