import type { EventId, ModelUid, TurnId } from "../base/ids.ts";
import type { CancelledBy, OutlinedEvent, TurnEvent } from "../log/event.ts";
import type { NextEvents } from "../log/read-turn.ts";
import type { NewTurn, TurnLabel, TurnRecord } from "../log/store.ts";
import type { QueuePlace } from "./queue.ts";
import type { Readers } from "./readers.ts";
import type { BlockedModel } from "./refusals.ts";

/** A request that a dialect parsed, with the model that its name means and who asked. */
export interface AskedTurn extends Omit<NewTurn, "turnId" | "createdAtMs" | "graceMs" | "modelUid" | "account"> {
  readonly modelUid: ModelUid;
  /** Digest of the body where the fingerprint names a stream instead: two streams that ask the same have the same one. */
  readonly body?: string;
  /**
   * How long the turn continues without a reader; the configured time if undefined. `Infinity`: to its end. A joined turn keeps
   * its own time if that is longer.
   */
  readonly graceMs: number | undefined;
  /**
   * The client marks the request as a retry (`X-Stainless-Retry-Count`), or it cannot be anything else: the earlier turn is joined
   * although its reader is not known to be gone.
   */
  readonly retry?: boolean;
  /** The client repeats each failure in the middle of an answer seconds later, without its user: its repeat gets no prompt at once. */
  readonly repeatsLate?: boolean;
}

/** Tells which turn a request repeats (caller, body, key and session), and gives the grace time that this reader asks for. */
export type RequestIdentity = Pick<
  AskedTurn,
  "caller" | "fingerprint" | "idempotencyKey" | "session" | "retry" | "graceMs"
>;

/** The turn of a request: a new one, or an existing one (`key`: same idempotency key; `implicit`: same request again). */
export interface StartedTurn {
  readonly turnId: TurnId;
  /** The turn as stored. */
  readonly record: TurnRecord;
  readonly joined: "no" | "key" | "implicit";
  /** How the prompt reached the model, a fresh trajectory or one that already held the history; undefined until that is known. */
  readonly continuity: () => string | undefined;
}

/** One reader of a turn. The turn has it until it is closed. */
export interface TurnReader {
  readonly next: NextEvents;
  /** `isDelivered`: the client has the whole answer, so no repetition of its request joins the turn. Throws the store's errors. */
  readonly close: (isDelivered: boolean) => Promise<void>;
}

/** Turns as the gateway knows them: start one, read it from any cursor, cancel it. */
export interface Turns {
  /**
   * The turn that is there for a request, by its key or as its twin; else a new one. Resolves once the turn is stored. If only a reader
   * keeps the request from joining its twin, that reader gets a quarter of a second to leave first. `resolve`, for a request whose
   * model is not known yet, is called only if no turn is there: an answer that was given is given again when the model's IDE is gone.
   * Throws `idempotency_conflict`, `expired`, and the errors of resolving the model and of finding a backend.
   */
  start(
    asked: AskedTurn | (RequestIdentity & { readonly resolve: () => Promise<AskedTurn> }),
    signal: AbortSignal,
  ): Promise<StartedTurn>;
  /**
   * Every event after the cursor, until the terminal one, in batches and at the reader's pace. A reader that stops early cancels nothing:
   * the turn continues for its grace time. Its `next` throws `invalid_request` for an unknown turn or a cursor past its end, `expired`
   * when the log is no longer kept, `cancelled` when the gateway stops first.
   */
  open(turnId: TurnId, after: EventId, signal: AbortSignal): TurnReader;
  /** As `follow`, in batches. */
  look(turnId: TurnId, after: EventId, signal: AbortSignal): NextEvents;
  /** As `open`, one by one, for onlookers (dashboard, tail): it neither keeps a turn alive nor counts as its delivery. */
  follow(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<TurnEvent, void>;
  /** As `follow`, without the content: for any turn, also one that its client sealed. For counting and for the dashboard. */
  outline(turnId: TurnId, after: EventId, signal: AbortSignal): AsyncGenerator<OutlinedEvent, void>;
  /** Resolves once the turn has ended, in any process. Throws as `follow` does. */
  untilEnded(turnId: TurnId, signal: AbortSignal): Promise<void>;
  /** Epoch ms of the last poll that the upstream answered, for heartbeats; undefined before the first. */
  lastAliveAtMs(turnId: TurnId): number | undefined;
  /** The turn's place in the queue of turns whose prompt is not sent yet; undefined if it does not wait. */
  placeInQueue(turnId: TurnId): QueuePlace | undefined;
  /** Since when a turn that runs here has no reader, and until when it goes on; undefined while it has one, or does not run here. */
  unread(turnId: TurnId): ReturnType<Readers["unread"]>;
  /** The models that a limit keeps from being asked now. */
  blocked(): readonly BlockedModel[];
  /** How many turns run in this process, and how many wait in its queue. */
  load(): { readonly running: number; readonly waiting: number };
  /**
   * The client came back: extends the grace time if the client now asks for a longer one.
   * Returns the turn with the new values, or unchanged if they cannot be stored.
   */
  noteReader(record: TurnRecord, graceMs: number | undefined): Promise<TurnRecord>;
  /** The client has the whole answer, by another way than a reader: no repetition of its request joins the turn. Throws the store's errors. */
  noteDelivered(turnId: TurnId): Promise<void>;
  /** Ends the turn, durably; nothing happens if it has ended. */
  cancel(turnId: TurnId, by: CancelledBy): Promise<void>;
  /**
   * Throws `expired` while the tombstone of a turn that is no longer kept remains. With a caller, a turn of another one is
   * unknown, kept or not.
   */
  get(turnId: TurnId, caller?: string): Promise<TurnRecord | undefined>;
  /** As `get`, for any caller and without the request, which is not opened. */
  getLabel(turnId: TurnId): Promise<TurnLabel | undefined>;
  /** Ends the turn if it runs, then forgets it and its events; nothing happens if it is unknown. */
  remove(turnId: TurnId): Promise<void>;
  list(filter: {
    readonly open?: boolean;
    readonly caller?: string;
    readonly limit: number;
  }): Promise<readonly TurnLabel[]>;
  /** Ends or hands over the running turns, then resolves. */
  stop(): Promise<void>;
}
