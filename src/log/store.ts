import type { EventId, TurnId } from "../base/ids.ts";
import type { TurnEvent, TurnEventBody } from "./event.ts";
import type { TurnRequest } from "./request.ts";

/** What is stored beside a turn's events: enough to adopt it after a restart and to join it. */
export interface TurnRecord {
  readonly turnId: TurnId;
  readonly createdAtMs: number;
  /** Which API it came through (`openai-chat`). */
  readonly dialect: string;
  readonly request: TurnRequest;
  readonly modelUid: string;
  readonly modelNumber: number | undefined;
  /** Digest of the caller's API key; joins never cross it. */
  readonly caller: string;
  /** Digest of the body; the same key with another one is a conflict. */
  readonly fingerprint: string;
  readonly idempotencyKey: string | undefined;
  /** The client's own session name, where it sends one. */
  readonly session: string | undefined;
  /** The client's product name and version, from its user agent. */
  readonly client: string | undefined;
  /** What the client says it works on (`X-Millrace-Project`); usage is told apart by it. */
  readonly project?: string | undefined;
  /** What the dialect needs to show the turn again after a restart: plain JSON, opaque to every other layer. */
  readonly wire?: unknown;
  readonly ended: boolean;
}

export type NewTurn = Omit<TurnRecord, "ended">;

/** What a store can do, so that suites skip by capability, never by name. */
export interface StoreCapabilities {
  readonly survivesRestart: boolean;
  readonly sharedBetweenProcesses: boolean;
}

/**
 * The append-only event log of every turn. One writer per turn, any number of readers. An append that resolved is as
 * durable as the store gets. Throws `degraded` when the medium is full, locked or gone.
 */
export interface LogStore {
  readonly capabilities: StoreCapabilities;
  /** Creates the turn, or answers the one that holds the same (caller, idempotency key). Atomic. */
  create(turn: NewTurn): Promise<{ readonly record: TurnRecord; readonly created: boolean }>;
  /** Adds events in order and answers them with their ids. Throws `internal` after a terminal event or on an unknown turn. */
  append(turnId: TurnId, bodies: readonly TurnEventBody[], atMs: number): Promise<readonly TurnEvent[]>;
  /** Events strictly after the cursor, at most `limit`; `ended` when nothing can follow the last of them. */
  readAfter(
    turnId: TurnId,
    after: EventId,
    options: { readonly limit: number },
  ): Promise<{ readonly events: readonly TurnEvent[]; readonly ended: boolean }>;
  /** Resolves once the log is past the cursor (at once if it is), or ended. Rejects with the signal's reason. */
  untilPast(turnId: TurnId, cursor: EventId, signal: AbortSignal): Promise<void>;
  get(turnId: TurnId): Promise<TurnRecord | undefined>;
  /** Newest first. */
  list(filter: {
    readonly open?: boolean;
    readonly caller?: string;
    readonly fingerprint?: string;
    readonly limit: number;
  }): Promise<readonly TurnRecord[]>;
  /** Forgets the turn and all its events, at once and for good; nothing happens if it is unknown. */
  remove(turnId: TurnId): Promise<void>;
  close(): Promise<void>;
}
