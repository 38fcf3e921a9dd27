import type { EventId, TurnId } from "../base/ids.ts";
import type { Secret } from "../base/secret.ts";
import type { CancelledBy, Claims, OutlinedEvent, TerminalEventType, TurnEvent, TurnEventBody } from "./event.ts";
import type { TurnRequest } from "./request.ts";
import type { RowsAbilities } from "./rows.ts";

/** A client's request as stored when the turn begins: enough to adopt the turn after a restart, and to join it. */
export interface NewTurn {
  readonly turnId: TurnId;
  readonly createdAtMs: number;
  /** Which API it came through (`openai-chat`). */
  readonly dialect: string;
  readonly request: TurnRequest;
  readonly modelUid: string;
  readonly modelNumber: number | undefined;
  /** By which rule the request's model name became that one; absent where no name was resolved. */
  readonly modelRule?: string | undefined;
  /** Digest of the caller's API key; joins never cross it. */
  readonly caller: string;
  /** Digest of the body; the same key with another one is a conflict. */
  readonly fingerprint: string;
  readonly idempotencyKey: string | undefined;
  /** The client's own session name, where it sends one. */
  readonly session: string | undefined;
  /** The client's product name and version, from its user agent. */
  readonly client: string | undefined;
  /** The project that the client named (`X-Millrace-Project`); usage is counted by it. */
  readonly project?: string | undefined;
  /** How long the turn continues without a reader; `Infinity`: to its end. In a record: the longest time that any reader asked for. */
  readonly graceMs: number;
  /** Its client was told that the turn is accepted, and may stay away: another process prompts it though nobody reads it. */
  readonly accepted?: true | undefined;
  /** The dialect's own data for showing the turn again after a restart: plain JSON, opaque to every other layer. */
  readonly wire?: unknown;
}

/**
 * What lists, feeds, metrics and the usage history show of a turn. All of it stands in the turn's row, so that none of them opens a
 * request: prompts have megabytes.
 */
export interface TurnLabel extends Omit<NewTurn, "request" | "wire"> {
  readonly request: Pick<TurnRequest, "model">;
  /** Of the request; 0 where a client sealed it. */
  readonly messageCount: number;
  /** The first line of the newest question; absent where a client sealed it, where there is none, and in a record. */
  readonly question?: string | undefined;
  readonly ended: boolean;
  /** How it ended; undefined while it runs. */
  readonly outcome: TerminalEventType | undefined;
  /** Whether a reader of the client that asked has passed the terminal event. */
  readonly delivered: boolean;
  /** Who asked for its end, where that was not carried out yet. */
  readonly cancelRequested: CancelledBy | undefined;
  /** The gateway that runs it, or ran it last. */
  readonly owner: string;
  /** The answer in short (`shorten`), once it has ended; only the end where its process could not read what an earlier one had stored. */
  readonly outline?: readonly OutlinedEvent[] | undefined;
  /** True when a client sealed the turn and its key was not given: its session, its key and its request are not known. */
  readonly sealed?: true;
  /** True when only this process's memory holds the turn, or its end: the store did not take it. It ends with this process. */
  readonly degraded: boolean;
  /** The last event that the log holds, `startOfLog` when there is none. */
  readonly lastEventId: EventId;
  /** Absent where it has had one claim. */
  readonly claims?: Claims | undefined;
  /** When a reader was last known to be there; the creation counts. Epoch ms. */
  readonly attachedAtMs: number;
  /** When the log stops being readable, epoch ms; for a running turn, when it would if it ended now. */
  readonly expiresAtMs: number;
}

/** A turn with its request: the facts of a turn beside its events. */
export interface TurnRecord extends TurnLabel, NewTurn {
  readonly request: TurnRequest;
}

/** Whether the events are stored now, or why nothing was: another writer took the turn over, it has ended, it was removed. */
export type AppendOutcome = "appended" | "fenced" | "ended" | "removed";

/** The right to append to one turn. The newest claim has it; older ones are fenced off. */
export interface LogWriter {
  readonly turnId: TurnId;
  /** Grows with each claim of the turn, from 1. */
  readonly epoch: number;
  /**
   * Adds events in order, all or none. Resolved means stored: `started` and the end are on the disk then. A turn whose store fails goes
   * on in memory; throws `unavailable` if the store does not take the `started` of a turn with an idempotency key.
   */
  append(bodies: readonly TurnEventBody[], atMs: number): Promise<AppendOutcome>;
}

/** `fingerprint`, `session` and `idempotencyKey` are one caller's: they need `caller`, and only one of them is looked at. */
export interface TurnFilter {
  readonly open?: boolean;
  readonly caller?: string;
  readonly fingerprint?: string;
  readonly session?: string;
  readonly idempotencyKey?: string;
  readonly limit: number;
}

/**
 * The right to read a turn that its client sealed: that client's key (32 bytes, base64url). With another key the turn is unknown.
 * Without a key the turn has only a record (its time, its model and its end).
 */
export interface ReadRight {
  readonly clientKey?: Secret | undefined;
}

/** The caller that looks for a turn. To another caller the turn is unknown, also after it has expired. */
export interface TurnLookup extends ReadRight {
  readonly caller?: string | undefined;
}

/**
 * The outcome of a message. `admitted` and `repeated` are acknowledged. `conflict`: the number was used for another payload. `gap`: an
 * earlier number is missing. `fenced`: a newer attach has the stream.
 */
export type MessageAdmission =
  | {
      readonly outcome: "admitted";
      readonly turn: { readonly record: TurnRecord; readonly writer: LogWriter } | undefined;
    }
  | { readonly outcome: "repeated" | "conflict" | "gap" | "fenced" };

/** How many events one read answers at most. */
export interface ReadLimit {
  readonly limit: number;
  /** Waits for an event after the cursor, or for the turn's end; rejects with the signal's reason. Without it a read may answer nothing. */
  readonly wait?: AbortSignal | undefined;
}

export interface CreateOptions {
  /** Seals the turn: it can be read only with this key. */
  readonly clientKey?: Secret | undefined;
  /**
   * False: a power cut may still lose the turn, until its first event is durable or a grace time is noted; a crash may not.
   * True by default.
   */
  readonly flush?: boolean;
}

/**
 * The append-only event log of every turn. One writer per turn, any number of readers.
 *
 * Every method throws `degraded` when the medium is full, locked or gone. Those that name a turn throw `expired` while
 * only its tombstone is left, and `invalid_request` when it is unknown, unless they say otherwise.
 */
export interface LogStore {
  readonly capabilities: RowsAbilities;

  // Writing turns: for the processes that start and run them.

  /**
   * Creates the turn, or returns the one that holds the same (caller, idempotency key). Atomic; `writer` when created. While the store
   * fails, a turn without an idempotency key is kept in memory, and one with a key throws `unavailable`.
   */
  create(
    turn: NewTurn,
    owner: string,
    options?: CreateOptions,
  ): Promise<{ readonly record: TurnRecord; readonly writer: LogWriter | undefined }>;
  /**
   * Takes a running turn over from its writer; undefined when it has ended or is unknown.
   * `readAll`: all that the log holds; throws `internal` when it was changed or damaged.
   */
  claim(
    turnId: TurnId,
    owner: string,
  ): Promise<
    | {
        readonly record: TurnRecord;
        readonly writer: LogWriter;
        readonly readAll: () => Promise<readonly TurnEvent[]>;
      }
    | undefined
  >;
  /**
   * Asks the turn's writer, in any process, to end the turn. Durable. The first request stays; after the end none counts. Returns
   * false, and asks nothing, if the request is for a stream that a newer attach has.
   */
  requestCancel(turnId: TurnId, by: CancelledBy, stream?: StreamHolder): Promise<boolean>;
  /** Resolves once a cancel of a running turn was requested, or soon if it already was. Rejects with the signal's reason. */
  untilCancelRequested(turnId: TurnId, signal: AbortSignal): Promise<CancelledBy>;
  /** Deletes the turn and all its events at once, without a tombstone; does nothing if it is unknown. */
  remove(turnId: TurnId): Promise<void>;

  // Reading turns, and noting who reads them.

  /**
   * Events strictly after the cursor: at most `limit`, and at most 256 KiB of stored records, but at least one if there is any.
   * `ended` when nothing can follow the last of them. Throws `invalid_request` for a cursor past the end, `internal` when the log
   * was changed or damaged.
   */
  readAfter(
    turnId: TurnId,
    after: EventId,
    options: ReadLimit & ReadRight,
  ): Promise<{ readonly events: readonly TurnEvent[]; readonly ended: boolean }>;
  /**
   * As `readAfter`, but without content and without a key: also for a turn that its client sealed, until that has its end.
   * For observers and for counting.
   */
  readOutlineAfter(
    turnId: TurnId,
    after: EventId,
    options: ReadLimit,
  ): Promise<{ readonly events: readonly OutlinedEvent[]; readonly ended: boolean }>;
  /** Resolves once the turn has ended (at once if it has). Rejects with the signal's reason. */
  untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void>;
  /** Undefined when unknown. */
  get(turnId: TurnId, looking?: TurnLookup): Promise<TurnRecord | undefined>;
  /** As `get`, for any caller and without the request, which is not opened. */
  getLabel(turnId: TurnId): Promise<TurnLabel | undefined>;
  /**
   * Newest first, without the expired ones; those that a client sealed as `sealed`. By a key that expired: throws `expired`. Opens no
   * request, and other work goes on meanwhile.
   */
  list(filter: TurnFilter): Promise<readonly TurnLabel[]>;
  /**
   * A reader attached at `atMs`, or still is. `graceMs`: the grace time that it asks for, if that is longer
   * than the turn's.
   */
  noteReader(turnId: TurnId, atMs: number, graceMs?: number): Promise<void>;
  /** The answer reached the client that asked for it, whole. */
  noteDelivered(turnId: TurnId): Promise<void>;

  // The numbered messages that clients sent. With them, sending a message twice has the same effect as sending it once.

  /**
   * Attaches to a stream; `create` makes it if there is none. Throws `expired` if another intent finds none, or the stream is no
   * longer kept: a second stream never takes its place.
   *
   * Each attach spends a ticket and gets the next. Until that is used the store also accepts the ticket before it, since an answer can be
   * lost, and all that it gave for that one, since an attach can come late; no ticket counts as the one before the first. Any other throws `cancelled` with the detail
   * `ticket_spent`, and fences the attached client. Source: docs/dev/wire/idempotent-streams.md, "Sealing and tickets".
   */
  attachStream(name: StreamName, intent: AttachIntent, ticket?: Secret): Promise<AttachedStream>;
  /** Accepts a message, and creates the turn that it starts (`owner` runs it), in one durable step. Throws `expired`. */
  admit(
    stream: StreamHolder,
    message: StreamMessage,
    start?: { readonly turn: NewTurn; readonly owner: string },
  ): Promise<MessageAdmission>;
  /** Resolves once a newer attach has the stream. Rejects with the signal's reason. */
  untilSuperseded(stream: StreamHolder, signal: AbortSignal): Promise<void>;
  /** Turns of one stream, in order: none of them is forgotten before the last one is. */
  keepTogether(turnIds: readonly TurnId[]): Promise<void>;

  // Housekeeping: the home, turns that its earlier gateways left running, and expired turns.

  /** Running turns, newest first, also those that a client sealed: for a process that may have to run them. */
  listRunning(): Promise<readonly TurnLabel[]>;
  /** When the oldest running turn was created, epoch ms; Infinity if none runs. Decodes no turn. */
  oldestRunningMs(): Promise<number>;
  /** Whether an earlier gateway of this owner's home had it: that one has ended, since a home has one gateway. */
  isEarlier(its: string, owner: string): boolean;
  /**
   * Whether the store may have the turn although its call failed, and nobody runs it. Such a turn is its owner's to take up once
   * the store works.
   */
  isUnclear(turnId: TurnId): boolean;
  /** Resolves when a store that failed works again, the next time; rejects with the signal's reason. Registers before it returns. */
  untilRecovered(signal: AbortSignal): Promise<void>;
  /** The time by which turns expire and readers are noted, epoch ms: that of the store, where homes share it. */
  now(): number;
  /** Erases expired turns and streams, and tombstones past their time. To be called each minute: it also says, where homes share the store, that this home lives. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** Who names a stream of the idempotent protocol how. Another key is another stream: a wrong one finds nothing. */
export interface StreamName {
  /** Digest of the caller's API key. */
  readonly caller: string;
  /** The client's own name for it, a UUID. */
  readonly name: string;
  /** 32 bytes, base64url: seals the client's messages and the turns that they started. */
  readonly clientKey: Secret | undefined;
}

/** `create` makes the stream if there is none, `resume` never does; `observe` only reads and does not disturb the writer. */
export type AttachIntent = "create" | "resume" | "observe";

/** A message that a client sent and that was made durable; only these are acknowledged. */
export interface AcceptedMessage {
  /** From 0, without gaps. */
  readonly seqno: number;
  readonly payload: Uint8Array;
  /** The turn that it started, if it did. */
  readonly turnId: TurnId | undefined;
}

/** A stream as an attach found it. The newest attach may send; older ones are fenced off. */
export interface AttachedStream {
  readonly name: StreamName;
  /** Grows with each attach, from 1. */
  readonly epoch: number;
  readonly accepted: readonly AcceptedMessage[];
  /** When the accepted messages expire, epoch ms; an attach and each message move it on. */
  readonly expiresAtMs: number;
  /** 32 bytes, base64url: the ticket for the next attach. Undefined for an observer. */
  readonly nextTicket: Secret | undefined;
  /** True when only memory holds it. */
  readonly degraded: boolean;
}

/** An attach that sends on its stream. */
export type StreamHolder = Pick<AttachedStream, "name" | "epoch" | "degraded">;

/** A numbered message of a client. */
export interface StreamMessage {
  readonly seqno: number;
  readonly payload: Uint8Array;
}

/** How long an ended turn's log can be read, after its end, and how long its tombstone answers `expired` after that; all in ms. */
export interface Retention {
  readonly keptMs: number;
  readonly tombstoneMs: number;
}

const hourMs = 3_600_000;

/**
 * Two hours, since clients look back that far; then a tombstone for a day.
 * Source: docs/dev/wire/idempotent-streams.md, "What a server must do".
 */
export const defaultRetention: Retention = { keptMs: 2 * hourMs, tombstoneMs: 24 * hourMs };
