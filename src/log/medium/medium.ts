import type { TurnId } from "../../base/ids.ts";
import type { AttachIntent } from "../client-stream.ts";
import type { CancelledBy, TerminalEventType, TurnEventBody } from "../event.ts";
import type { StoreCapabilities } from "../store.ts";
import type { PageLimit, Taken } from "./page-limit.ts";

/** A turn as a medium keeps it: fields that it must look up or change, in the open, and sealed bytes that it cannot read. */
export interface TurnRow {
  readonly turnId: TurnId;
  readonly createdAtMs: number;
  readonly caller: string;
  /** The lookup keys of the idempotency key, the fingerprint and the session. */
  readonly keyIndex: string | undefined;
  readonly matchIndex: string;
  readonly sessionIndex: string | undefined;
  /** The rest of the turn's description, sealed. */
  readonly header: Uint8Array;
  /** The label of a turn that its client sealed, sealed by the gateway; empty for any other turn. */
  readonly label: Uint8Array;
  /** The turn's own key, wrapped; empty when nothing is sealed. */
  readonly wrappedKey: Uint8Array;
  readonly owner: string;
  readonly epoch: number;
  /** How many events there are; the last one has this number. */
  readonly lastSeq: number;
  readonly lastMac: Uint8Array;
  readonly outcome: TerminalEventType | undefined;
  readonly endedAtMs: number | undefined;
  readonly attachedAtMs: number;
  /** The longest grace time that was asked for since the turn began, ms; 0 for none, `Number.MAX_SAFE_INTEGER` for an endless one. */
  readonly longerGraceMs: number;
  readonly expiresAtMs: number | undefined;
  readonly delivered: boolean;
  readonly cancelRequested: CancelledBy | undefined;
  /** When the content was erased and the tombstone began. */
  readonly erasedAtMs: number | undefined;
  /** Grows with every append, claim and cancel request; waiters compare it. */
  readonly version: number;
}

/** One log record. `seq` counts from 1 without gaps. */
export interface EventRow {
  readonly seq: number;
  readonly epoch: number;
  readonly kind: TurnEventBody["type"];
  readonly atMs: number;
  readonly payload: Uint8Array;
  readonly mac: Uint8Array;
  /** The gateway's outline of an event that its client sealed, sealed by the gateway; empty for any other event. */
  readonly outline: Uint8Array;
}

/** A turn and the records after one of its places. */
export interface Page extends Taken<EventRow> {
  /** Its header may be left out: who reads records has seen it. */
  readonly row: TurnRow;
  /** Of the record at that place; undefined at the start. */
  readonly previousMac: Uint8Array | undefined;
}

/** The columns that a turn's end changes in its row. */
export interface EndRow {
  readonly outcome: TerminalEventType;
  readonly atMs: number;
  readonly expiresAtMs: number;
  /** Replaces the turn's wrapped key. */
  readonly wrappedKey: Uint8Array | undefined;
}

export interface AppendRows {
  /** The claim under which the writer writes, and the event that it believes to be the last. */
  readonly epoch: number;
  readonly afterSeq: number;
  readonly events: readonly EventRow[];
  readonly end: EndRow | undefined;
}

export interface RowFilter {
  readonly open?: boolean;
  /** Not those of this owner. */
  readonly exceptOwner?: string;
  readonly caller?: string;
  readonly matchIndex?: string;
  readonly sessionIndex?: string;
  readonly keyIndex?: string;
  readonly limit: number;
}

/** An attach of a stream. */
export interface HolderRow {
  readonly streamId: string;
  readonly epoch: number;
}

/** The changes that `mark` makes. A cancel request counts only if there was none and the turn runs. The grace time can only grow. */
export interface RowChange {
  readonly attachedAtMs?: number;
  readonly longerGraceMs?: number;
  readonly expiresAtMs?: number;
  readonly delivered?: true;
  readonly cancelRequested?: CancelledBy;
}

/** The messages that a client sent on one stream of the idempotent protocol: numbered, with the attach that sent each. */
export interface StreamRow {
  /** Digest of the caller, the client's name for the stream and its key: another key is another stream. */
  readonly streamId: string;
  readonly wrappedKey: Uint8Array;
  /** Grows with each attach, from 1; only the newest may send. */
  readonly epoch: number;
  /** How many messages were accepted, which is the number of the next one. */
  readonly accepted: number;
  /** Digests of the ticket that was handed out last, and of the one that was spent for it; "" means no ticket. */
  readonly ticket: string;
  readonly ticketBefore: string;
  /** Which attach the newest was that its client counted: a digest of the client's life, and its number; "" and 0 for none. */
  readonly life: string;
  readonly attachNumber: number;
  readonly expiresAtMs: number;
  readonly erasedAtMs: number | undefined;
}

export interface MessageRow {
  readonly seqno: number;
  readonly digest: string;
  readonly box: Uint8Array;
  readonly turnId: TurnId | undefined;
}

/** A message that an attach of this epoch sends; its stream is kept until `expiresAtMs` from then on. */
export interface SentRow extends Omit<MessageRow, "turnId"> {
  readonly epoch: number;
  readonly expiresAtMs: number;
}

export interface AttachAttempt {
  readonly intent: AttachIntent;
  /** Digest of the ticket that the client brings. */
  readonly given: string;
  readonly nowMs: number;
}

/** The stream as an attach found it, or why the attach did not take it over; undefined if there is no stream. */
export type AttachedRow =
  | { readonly row: StreamRow; readonly messages: readonly MessageRow[] }
  | "spent"
  | "late"
  | undefined;

export type AdmitOutcome = "admitted" | "repeated" | "conflict" | "gap" | "fenced" | "unknown";

/** The part of a medium that keeps clients' messages. */
export interface StreamMedium {
  /**
   * Raises the epoch of a stream, moves its expiry and hands out the row's ticket for the given one. If the expiry has passed, the
   * stream is erased instead. Creates the stream from the row if there is none and the intent is `create`. `observe` only looks.
   * `spent`: the given ticket is neither of the two; the epoch is raised all the same. `late`: the row's number is lower than that of
   * the newest attach of the same life, and nothing is changed.
   */
  attachStream(row: StreamRow, ask: AttachAttempt): Promise<AttachedRow>;
  /** Accepts the next message, and creates the turn that it starts, in one step; or does neither. */
  admit(streamId: string, message: SentRow, turn: TurnRow | undefined): Promise<AdmitOutcome>;
  /** Resolves once the stream's epoch is another (at once if it is), or it is gone. */
  untilReattached(streamId: string, epoch: number, signal: AbortSignal): Promise<void>;
}

/**
 * Where the log's bytes live: memory, SQLite, Redis. Knows rows, not events; every method is one atomic step, and a
 * resolved one is durable. Throws `degraded` when the medium is full, locked or gone.
 */
export interface LogMedium extends StreamMedium {
  readonly capabilities: StoreCapabilities;
  /** Inserts the row, or answers the one with the same caller and `keyIndex` (tombstones too). Without `flush` not yet durable. */
  create(row: TurnRow, flush: boolean): Promise<{ readonly row: TurnRow; readonly created: boolean }>;
  /** Raises the epoch of a running turn and names its owner; undefined when it has ended or is unknown. */
  claim(turnId: TurnId, owner: string): Promise<TurnRow | undefined>;
  append(turnId: TurnId, rows: AppendRows): Promise<"appended" | "fenced" | "ended" | "removed">;
  /** The turn, and the records after `afterSeq` that the limit has room for, from one state of the medium. */
  read(turnId: TurnId, afterSeq: number, limit: PageLimit): Promise<Page | undefined>;
  /** Resolves once the turn's version differs from `seenVersion` (at once if it does) or it is gone. */
  untilChanged(turnId: TurnId, seenVersion: number, signal: AbortSignal): Promise<void>;
  /** The running turns whose end was asked for, and by whom. */
  cancelRequests(): Promise<ReadonlyMap<TurnId, CancelledBy>>;
  /** Resolves when `cancelRequests` may have a new one, since the call. Rejects with the signal's reason. */
  untilCancelRequested(signal: AbortSignal): Promise<void>;
  /** False, and nothing changed, where a newer attach than the given one has its stream. */
  mark(turnId: TurnId, change: RowChange, holder?: HolderRow): Promise<boolean>;
  get(turnId: TurnId): Promise<TurnRow | undefined>;
  /** Newest first, without tombstones. */
  list(filter: RowFilter): Promise<readonly TurnRow[]>;
  /** Drops header, key and events; the tombstone stays. */
  erase(turnId: TurnId, atMs: number): Promise<void>;
  remove(turnId: TurnId): Promise<void>;
  /** Erases every turn and stream that expired, and removes tombstones that began at or before `tombstonesUpToMs`. */
  sweep(nowMs: number, tombstonesUpToMs: number): Promise<void>;
  renewOwner(owner: string, aliveUntilMs: number): Promise<void>;
  owners(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}
